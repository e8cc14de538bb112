// Compares a pair with its index entry, and changes nothing.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_EXAMINATION_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_EXAMINATION_H_

#include <cstdint>
#include <string>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/index_reader.h"
#include "rocksdb/db.h"

namespace rocksync {

// What is stored for one key: its entry and its pair.
struct Examination {
  enum class Verdict : uint8_t {
    kUnknown,     // no entry
    kMatches,     // the entry, even if quarantined, is what the pair says
    kDiffers,     // it is not what the pair says; or it does not parse
    kShows,       // a good tombstone, and there is a pair all the same
    kUnreadable,  // RocksDB reports corruption of the pair
    kEntity,      // the pair is a wide-column entity, whatever the entry says
  };
  Verdict verdict = Verdict::kUnknown;
  StoredEntry entry;
  bool repaired = false;   // `entry` is what was stored, except for one bit
  bool has_value = false;  // which may be an entity
  bool entity = false;     // then `value` is empty
  bool corrupt = false;    // RocksDB reports corruption of the pair
  bool lost = false;  // the file that it would be in is not there: no value
  std::string value;
};

// Reads entry and pair. An entry that does not parse, or whose hash does not
// fit, is tried with each of its bits flipped: the hash is cryptographic, so
// what fits is what was written. After any error nothing is known. REQUIRES:
// the key's lock is held.
rocksdb::Status Examine(const IndexReader& reader, const Family& family,
                        const IndexKey& key, Examination* out);

// Sets `*sequence` to RocksDB's sequence number of the newest record of a key;
// 0 if that is not known any more, or there is none.
rocksdb::Status NewestSequence(rocksdb::DB* db,
                               rocksdb::ColumnFamilyHandle* family,
                               const rocksdb::Slice& key, uint64_t* sequence);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_EXAMINATION_H_

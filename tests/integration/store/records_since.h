// What was written to a database, by what its log says.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_RECORDS_SINCE_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_RECORDS_SINCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "tests/integration/store/read_log.h"

namespace rocksync {

// The keys of data, index and meta records that `db` has written after
// `sequence`. The lease is left out: time alone renews it, so that the latest
// sequence number says nothing in a slow run. An error stands as a key, too.
inline std::vector<std::string> RecordsSince(rocksdb::DB* db,
                                             uint64_t sequence) {
  struct Keys final : rocksdb::WriteBatch::Handler {
    rocksdb::Status PutCF(uint32_t, const rocksdb::Slice& key,
                          const rocksdb::Slice&) override {
      if (key != MetaKey(kLeaseRecord)) keys.push_back(key.ToString(true));
      return rocksdb::Status::OK();
    }
    rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice& key) override {
      keys.push_back("deleted " + key.ToString(true));
      return rocksdb::Status::OK();
    }
    std::vector<std::string> keys;
  } found;
  // Asked for what is not there yet, RocksDB says NotFound.
  if (db->GetLatestSequenceNumber() == sequence) return {};
  const rocksdb::Status status = ReadLog(db, sequence + 1, &found);
  if (!status.ok()) found.keys.push_back(status.ToString());
  return found.keys;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_RECORDS_SINCE_H_

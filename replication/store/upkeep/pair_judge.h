// What becomes of a pair, or of an index entry, that the index build reads: it
// is as it should be, adopted, given a fresh version, or quarantined.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_JUDGE_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_JUDGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/family_table.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "rocksdb/write_batch.h"
#include "sketch/element/element.h"

namespace rocksync {

// Pairs that are judged and written together, at most.
inline constexpr size_t kJudgedAtOnce = 128;

// A pair that was read, to be judged under its lock.
struct Candidate {
  std::string key;
  uint64_t position = 0;
  ValueHash unversioned;  // of the value, at version 0; if it may be adopted
  bool unreadable = false;
};

// That a foreign write changed a key.
enum class Evidence : uint8_t {
  kNone,
  kWritten,   // later than all of ours, with a file that was ingested, or
              // nothing tells any more when, and somebody wrote
  kFileGone,  // the file that it was in was deleted by a call
  kLogLost,   // nobody's write: the log that it was in is lost, and the index
              // knows of it
};

// Judging a pair of the data:
//   entry there and it agrees        nothing to do
//   no entry, family being adopted   adopted: unversioned
//   otherwise                        if the pair's sequence number in RocksDB
//                                    is later than the last one known to be
//                                    ours, and than the entry's, somebody wrote
//                                    it since: a fresh version. Else
//                                    quarantined.
// Judging an entry without its pair: the same, a deletion being the evidence.
//
// Evidence also is that the key lies where somebody ingested a file, or deleted
// one by a call, see FileWatch. A deletion that is lost, be it with such a file
// or with a log, is made again: the entry, its tombstone, has the version of
// it.
//
// A pair whose value does not read ends nothing: one that RocksDB reports
// corrupt, or whose blob file is not there, is quarantined (pair_check.h). Any
// other error is tried again each second; a pair that is being adopted, and so
// has no entry that a peer's older pair could be kept out by, is quarantined
// after a few of that (FamilyWalk). What peers may be told of a pair that is
// being compared is not decided by an error: they wait. So they do where a
// block of keys does not read, as nobody knows what is in it.
//
// Of one thread. All that is decided goes into the caller's batch.
class PairJudge {
 public:
  // What the present check knows of a key. `there`: there is a pair;
  // `changed`, `indexed`: the sequence numbers of its newest change and of its
  // entry's, 0: none.
  using EvidenceOf =
      std::function<Evidence(const Family& family, const std::string& key,
                             bool there, uint64_t changed, uint64_t indexed)>;

  PairJudge(IndexedDB* indexed, Quarantine* quarantine, EvidenceOf evidence_of)
      : indexed_(indexed),
        quarantine_(quarantine),
        evidence_of_(std::move(evidence_of)) {}

  // `work`: of the family's record. REQUIRES: the stripe of the key is held.
  rocksdb::Status JudgePair(const Family& family, uint8_t work,
                            const Candidate& candidate,
                            rocksdb::WriteBatch* batch);
  // An entry that is live, by the index. REQUIRES: the same.
  rocksdb::Status JudgeEntry(const Family& family, const IndexKey& key,
                             rocksdb::WriteBatch* batch);

 private:
  // Of a value that another program has written: a version of now.
  rocksdb::Status PutWritten(const IndexKey& key, std::string_view value,
                             rocksdb::WriteBatch* batch);
  // Marks a pair that does not read, unless its entry says what no pair has to
  // bear out. `entry`: null if there is none.
  rocksdb::Status JudgeUnreadable(const Family& family, const IndexKey& key,
                                  const StoredEntry* entry,
                                  rocksdb::WriteBatch* batch);
  // Whether the entry, which is not quarantined, is that of this value.
  bool Matches(const Family& family, std::string_view key,
               const StoredEntry& entry, const rocksdb::Slice& value) const;
  rocksdb::Status Look(const Family& family, const IndexKey& index_key,
                       bool there, Evidence* evidence) const;

  IndexedDB* const indexed_;
  Quarantine* const quarantine_;
  const EvidenceOf evidence_of_;
  uint64_t unreadable_ = 0;  // pairs that it marked
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_JUDGE_H_

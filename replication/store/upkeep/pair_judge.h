// Judges a pair, or an index entry, that the index build reads: it is as it
// should be, adopted, given a fresh version, or quarantined.

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

// How many pairs are judged and written together, at most.
inline constexpr size_t kJudgedAtOnce = 128;

// A pair that was read, to be judged under its lock.
struct Candidate {
  std::string key;
  uint64_t position = 0;
  ValueHash unversioned;  // of the value, at version 0; if it may be adopted
  bool unreadable = false;
};

// What shows that a foreign write changed a key, or that a write was lost.
enum class Evidence : uint8_t {
  kNone,
  kWritten,    // later than all of ours, or with a file that was ingested
  kUndatable,  // somebody wrote, and nothing tells any more when
  kFileGone,   // a call deleted the file that the key was in
  kLogLost,    // no foreign write: the log that the change was in is lost, and
               // the index knows of it
};

// Judges pairs and entries, in one thread. All that is decided goes into the
// caller's batch. A pair of the data:
//   entry there and it agrees        nothing to do
//   no entry, family being adopted   adopted: unversioned
//   otherwise                        if the pair's sequence number in RocksDB
//                                    is later than the last one known to be
//                                    ours, and than the entry's, somebody wrote
//                                    it since: a fresh version. Else
//                                    quarantined.
// An entry without its pair is judged in the same way, a deletion being the
// evidence.
//
// It is also evidence that the key lies where somebody ingested a file, or
// deleted one by a call (FileWatch). A deletion that is lost, with such a file
// or with a log, is made again: the entry, its tombstone, has its version.
//
// A pair whose value does not read does not end the work. One that RocksDB
// reports corrupt, or whose blob file is not there, is quarantined
// (pair_check.h). After any other error the pair is tried again each second;
// one that is being adopted, and so has no entry to keep out a peer's older
// pair, is quarantined after a few tries (FamilyWalk). An error does not decide
// what peers may be told of a pair that is being compared: they wait. So they
// do where a block of keys does not read, as nobody knows what is in it.
class PairJudge {
 public:
  // Returns what the present check knows of a key. `pair_exists`: the data
  // have a pair of it. `changed` and `indexed` are the sequence numbers of its
  // newest change and of its entry's; 0: none.
  using EvidenceOf = std::function<Evidence(
      const Family& family, const std::string& key, bool pair_exists,
      uint64_t changed, uint64_t indexed)>;

  PairJudge(IndexedDB* indexed, Quarantine* quarantine, EvidenceOf evidence_of)
      : indexed_(indexed),
        quarantine_(quarantine),
        evidence_of_(std::move(evidence_of)) {}

  // Judges a pair. `build_state` is the work in the family's record. REQUIRES:
  // the stripe of the key is held.
  rocksdb::Status JudgePair(const Family& family, uint8_t build_state,
                            const Candidate& candidate,
                            rocksdb::WriteBatch* batch);
  // Judges an entry that is live, by the index. REQUIRES: the stripe of the key
  // is held.
  rocksdb::Status JudgeEntry(const Family& family, const IndexKey& key,
                             rocksdb::WriteBatch* batch);

 private:
  // What a comparison of a pair with its entry found.
  struct Compared {
    rocksdb::PinnableSlice value;
    Evidence evidence = Evidence::kNone;
    bool resolved = false;  // nothing else is to be decided
  };
  // `entry` is null if there is none.
  rocksdb::Status Compare(const Family& family, const IndexKey& key,
                          const StoredEntry* entry, rocksdb::WriteBatch* batch,
                          Compared* compared);
  // Writes the outcome for a pair that does not match its entry: the pair is
  // deleted again, its entry is given a fresh version, it is adopted, or it is
  // quarantined. `entry` is null if there is none.
  rocksdb::Status WriteOutcome(const Family& family, uint8_t build_state,
                               const Candidate& candidate,
                               const StoredEntry* entry,
                               const Compared& compared,
                               rocksdb::WriteBatch* batch);
  // Puts an entry with a version of now, for a value that another program
  // wrote.
  rocksdb::Status PutWritten(const IndexKey& key, std::string_view value,
                             rocksdb::WriteBatch* batch);
  // Puts an entry right that has one bit flipped. Sets `*flipped` to whether it
  // was so: then no other program wrote its pair.
  rocksdb::Status FlipBack(const Family& family, const IndexKey& key,
                           rocksdb::WriteBatch* batch, bool* flipped);
  // Quarantines a pair that does not read, unless its entry is a tombstone, or
  // quarantined already. `entry` is null if there is none.
  rocksdb::Status JudgeUnreadable(const Family& family, const IndexKey& key,
                                  const StoredEntry* entry,
                                  rocksdb::WriteBatch* batch);
  // Returns whether the entry is not quarantined, and is that of this value.
  bool Matches(const Family& family, std::string_view key,
               const StoredEntry& entry, const rocksdb::Slice& value) const;
  // Sets `*evidence` to what shows that a foreign write changed the key, or
  // that a write was lost. `pair_exists`: the data have a pair of the key.
  rocksdb::Status FindEvidence(const Family& family, const IndexKey& index_key,
                               bool pair_exists, Evidence* evidence) const;

  IndexedDB* const indexed_;
  Quarantine* const quarantine_;
  const EvidenceOf evidence_of_;
  uint64_t unreadable_ = 0;  // unreadable pairs that it quarantined
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_PAIR_JUDGE_H_

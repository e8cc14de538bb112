// The index build, in the background: an existing database is adopted, one with
// foreign writes is re-checked, and entries of families that are gone are
// purged, all while the application reads and writes.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_INDEX_BUILD_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_INDEX_BUILD_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/upkeep/foreign_writes.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/write/families.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

// One thread. Works in steps (purge, each family's data, the index), chunk by
// chunk: a chunk's keys are locked, judged, and written in one batch together
// with how far the work is, so a kill costs at most one chunk. Nothing is
// offered to peers before all of it is done.
//
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
// one by a call, see FileWatch.
//
// A pair whose value does not read ends nothing: one that RocksDB reports
// corrupt, or whose blob file is not there, is quarantined (pair_check.h). Any
// other error is tried again each second; a pair that is being adopted, and so
// has no entry that a peer's older pair could be kept out by, is quarantined
// after kMostTries of that. What peers may be told of a pair that is being
// compared is not decided by an error: they wait. So they do where a block of
// keys does not read, as nobody knows what is in it.
class IndexBuild {
 public:
  // `foreign`: the ranges of a re-check that is not done.
  IndexBuild(IndexedDB* indexed, Families* families,
             ForeignWrites* foreign_writes, Quarantine* quarantine,
             WorkRecord work, std::vector<ForeignRange> foreign);
  ~IndexBuild();

  void Start();
  void Stop();

  // Whether all that was acknowledged so far is in the index: there is no
  // foreign write, and nothing is being compared. Stripes may be held.
  bool AllIsIndexed(const std::function<bool()>& cancelled = {}) const;
  // After a foreign write, has everything compared anew. OK: that
  // is written down, or there was nothing. With `may_wait` false it waits for
  // nobody. REQUIRES: no stripe is held.
  rocksdb::Status DealWithForeignWrites(
      bool may_wait, const std::function<bool()>& cancelled = {});

  // The same for threads that must not wait: what cannot be dealt with at once,
  // its own thread deals with.
  void NoticeForeignWrites() {
    if (!DealWithForeignWrites(/*may_wait=*/false).ok()) Wake();
  }

  // The family was replicated, and entries of it may be left in the index.
  // REQUIRES: no stripe is held.
  bool IsBeingPurged(uint32_t family_id) const;
  // Has entries of families that are no more replicated removed. Returns once
  // that is written down.
  rocksdb::Status RequestPurge();

  // How many checks were asked for.
  uint64_t generation() const;
  // Look for foreign writes now rather than in a second.
  void Wake() { changed_.notify_all(); }

  IndexBuildProgress Progress() const;
  rocksdb::Status Wait(uint64_t timeout_ms) const;

 private:
  // A pair that was read, to be judged under its lock.
  struct Candidate {
    std::string key;
    uint64_t position = 0;
    ValueHash unversioned;  // of the value, at version 0; if it may be adopted
    bool unreadable = false;
  };

  // Has everything compared, from the start. `records` are the families', all
  // of them to be checked. Durable when it returns OK. With `may_wait` false it
  // waits neither for a lock nor for RocksDB, and is Incomplete instead.
  // REQUIRES: no record of a family changes meanwhile.
  rocksdb::Status RequestCheck(uint64_t known_sequence,
                               const std::vector<ForeignRange>& ranges,
                               const std::vector<FamilyRecord>& records,
                               bool may_wait);
  WorkRecord Current() const;
  void Run();
  rocksdb::Status Work();
  rocksdb::Status Purge();
  rocksdb::Status ReadFamily(const Family& family, uint8_t work);
  // Judges the pairs behind `*from` (with `resumed` false: from the beginning)
  // that an iterator ended short of with `error`, each read by itself, and
  // moves
  // `*from` on. NotFound: there are none behind it. Another error: the keys do
  // not read, or a value may read the next time.
  rocksdb::Status ReadOneByOne(const Family& family, uint8_t work,
                               const rocksdb::Status& error, std::string* from,
                               bool* resumed);
  rocksdb::Status ReadValue(const Family& family, uint8_t work,
                            Candidate* candidate);
  rocksdb::Status CheckIndex();
  rocksdb::Status JudgePairs(const Family& family, uint8_t work,
                             const std::vector<Candidate>& candidates);
  rocksdb::Status JudgePair(const Family& family, uint8_t work,
                            const Candidate& candidate,
                            rocksdb::WriteBatch* batch);
  // Marks a pair that does not read, unless its entry says what no pair has to
  // bear out. `entry`: null if there is none.
  rocksdb::Status JudgeUnreadable(const Family& family, const IndexKey& key,
                                  const StoredEntry* entry,
                                  rocksdb::WriteBatch* batch);
  rocksdb::Status JudgeEntry(const Family& family, const IndexKey& key,
                             rocksdb::WriteBatch* batch);
  // Whether the entry, which is not quarantined, is that of this value.
  bool Matches(const Family& family, std::string_view key,
               const StoredEntry& entry, const rocksdb::Slice& value) const;
  enum class Evidence : uint8_t {
    kNone,
    kWritten,   // later than all of ours, with a file that was ingested, or
                // nothing tells any more when, and somebody wrote
    kFileGone,  // the file that it was in was deleted by a call
  };
  // Of a foreign write to the key. `there`: there is a pair.
  rocksdb::Status Look(const Family& family, const IndexKey& index_key,
                       bool there, Evidence* evidence) const;
  // True if a check was asked for since the work began.
  // REQUIRES: mutex_ is held.
  bool Outdated() const { return generation_ != begun_generation_; }
  // Writes `batch` and the work record, which must stand last.
  rocksdb::Status Commit(rocksdb::WriteBatch* batch);
  rocksdb::Status FinishFamily(uint32_t family_id);
  rocksdb::Status Finish();
  uint64_t EstimatePairs() const;

  IndexedDB* const indexed_;
  Families* const families_;
  ForeignWrites* const foreign_writes_;
  Quarantine* const quarantine_;
  std::thread thread_;
  std::atomic<bool> stop_{false};

  // Held by whoever writes or deletes the work record for good, before mutex_,
  // which is held across no write: Progress() must not wait for a stall.
  std::mutex record_mutex_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  WorkRecord work_;  // written by the thread alone, and by RequestPurge
  std::vector<ForeignRange> foreign_;
  uint64_t generation_ = 0;
  uint64_t begun_generation_ = 0;  // when the work began
  bool pending_ = false;
  uint64_t estimate_ = 0;
  rocksdb::Status last_error_;
  // Of the thread.
  int tries_ = 0;                        // of the present pair, in vain
  uint64_t unreadable_ = 0;              // pairs that it marked
  std::atomic<uint64_t> pairs_read_{0};  // since this opening
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_INDEX_BUILD_H_

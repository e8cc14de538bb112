// Builds the index in the background, while the application reads and writes:
// an existing database is adopted, one with foreign writes is re-checked, and
// entries of families that are gone are purged.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_INDEX_BUILD_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_INDEX_BUILD_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/upkeep/foreign_writes.h"
#include "replication/store/upkeep/pair_judge.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/write/families.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

// Returns why something has to wait for an index build, for people and peers:
// how far it is, the kind of error that keeps it from going on, and the remedy.
std::string InProgressText(const IndexBuildProgress& progress);
// Returns that as the error of a session.
absl::Status InProgress(const IndexBuildProgress& progress);

// Runs the index build, in one thread. Works in steps (purge, each family's
// data, the index), chunk by chunk: a chunk's keys are locked, judged, and
// written in one batch together with how far the work is, so a kill costs at
// most one chunk. Nothing is offered to peers before all of it is done.
class IndexBuild {
 public:
  // `foreign` are the ranges of a re-check that is not done.
  IndexBuild(IndexedDB* indexed, Families* families,
             ForeignWrites* foreign_writes, Quarantine* quarantine,
             WorkRecord work, std::vector<ForeignRange> foreign);
  ~IndexBuild();

  void Start();
  void Stop();

  // Returns whether all that was acknowledged so far is in the index: there is
  // no foreign write, and nothing is being compared. Stripes may be held.
  bool AllIsIndexed(const std::function<bool()>& cancelled = {}) const;
  // Has everything compared anew after a foreign write. Returns OK if that is
  // written down, or there was none. With `may_wait` false it waits for nobody.
  // REQUIRES: no stripe is held.
  rocksdb::Status RecheckForeignWrites(
      bool may_wait, const std::function<bool()>& cancelled = {});

  // Does the same for threads that must not wait: what cannot be dealt with at
  // once is left to the build's own thread.
  void NoticeForeignWrites() {
    if (!RecheckForeignWrites(/*may_wait=*/false).ok()) Wake();
  }

  // Returns whether the family was replicated, and entries of it may be left in
  // the index. REQUIRES: no stripe is held.
  bool IsBeingPurged(uint32_t family_id) const;
  // Has entries removed of families that are no more replicated. Returns once
  // that is written down, together with `records`. Busy: a WriteBufferManager
  // stalls writes, and it is not written down, but the purge is under way.
  rocksdb::Status RequestPurge(const std::vector<FamilyRecord>& records);

  // Returns how many checks were asked for.
  uint64_t generation() const;
  // Makes the thread look for foreign writes now rather than in a second.
  void Wake() { changed_.notify_all(); }

  IndexBuildProgress Progress() const;
  rocksdb::Status Wait(uint64_t timeout_ms) const;

 private:
  // Has everything compared, from the start. `records` are the families', all
  // of them to be checked. Durable when it returns OK. With `may_wait` false it
  // waits neither for a lock nor for RocksDB, and returns Incomplete instead.
  // REQUIRES: no record of a family changes meanwhile.
  rocksdb::Status RequestCheck(uint64_t known_sequence,
                               const std::vector<ForeignRange>& ranges,
                               const std::vector<FamilyRecord>& records,
                               bool may_wait);
  WorkRecord Current() const;
  void Run();
  rocksdb::Status Work();
  rocksdb::Status Purge();
  rocksdb::Status ReadFamily(const Family& family, uint8_t build_state);
  rocksdb::Status CheckIndex();
  rocksdb::Status JudgePairs(const Family& family, uint8_t build_state,
                             const std::vector<Candidate>& candidates);
  // Returns what the present check knows of a foreign write to the key.
  Evidence EvidenceOf(const Family& family, const std::string& key,
                      bool pair_exists, uint64_t changed,
                      uint64_t indexed) const;
  // Returns whether a check was asked for since the work began.
  // REQUIRES: mutex_ is held.
  bool Outdated() const { return generation_ != begun_generation_; }
  // Returns the family, and keeps no others; nullopt if it is not replicated.
  std::optional<Family> CopyOf(uint32_t family_id) const;
  // Returns a cursor over the index, from this key on; from the first one if
  // empty.
  std::unique_ptr<IndexCursor> CursorFrom(std::string_view index_key) const;
  // Makes the cursor anew, where it is, if it keeps a dropped family alive.
  void LetGoOfDropped(std::unique_ptr<IndexCursor>* cursor) const;
  // Returns false if the thread is to stop. Called between two chunks, it frees
  // what was dropped meanwhile, which need not wait for the end of a long
  // check. REQUIRES: no lock is held.
  bool GoesOn();
  // Writes `batch` and, as its last record, the work record.
  rocksdb::Status Commit(rocksdb::WriteBatch* batch);
  rocksdb::Status FinishFamily(uint32_t family_id);
  rocksdb::Status Finish();
  uint64_t EstimatePairs() const;

  IndexedDB* const indexed_;
  Families* const families_;
  ForeignWrites* const foreign_writes_;
  PairJudge judge_;
  std::thread thread_;
  std::atomic<bool> stop_{false};

  // Held while the work record is written or deleted. Taken before mutex_,
  // which is held across no write: Progress() must not wait for a stall.
  std::mutex record_mutex_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  WorkRecord work_;  // changed by the thread and by requests
  std::vector<ForeignRange> foreign_;
  uint64_t generation_ = 0;
  uint64_t begun_generation_ = 0;  // when the work began
  bool pending_ = false;
  uint64_t estimate_ = 0;
  rocksdb::Status last_error_;
  // Changed by the thread alone.
  int tries_ = 0;                        // vain tries of the present pair
  std::atomic<uint64_t> pairs_read_{0};  // since this opening
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_INDEX_BUILD_H_

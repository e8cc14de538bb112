// Background reading: an existing database is adopted, one that somebody wrote
// to without the library is checked, and entries of families that are gone are
// purged, all while the application reads and writes.

#ifndef ROCKSYNC_REPLICATION_STORE_ADOPTION_H_
#define ROCKSYNC_REPLICATION_STORE_ADOPTION_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/index_entry.h"
#include "replication/store/index_key.h"
#include "replication/store/meta_records.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class Store;
struct Family;

// One thread. Works in steps (purge, each family's data, the index), chunk by
// chunk: a chunk's keys are locked, judged, and written in one batch together
// with how far the work is, so a kill costs at most one chunk. Nothing is
// offered to peers before all of it is done.
//
// Judging a pair of the data:
//   entry there and it agrees        nothing to do
//   no entry, family being adopted   adopted: version 0
//   otherwise                        if the pair's sequence number in RocksDB
//                                    is later than the last one known to be
//                                    ours, somebody wrote it since: a fresh
//                                    version. Else suspect.
// Judging an entry without its pair: the same, a deletion being the evidence.
class Adoption {
 public:
  Adoption(Store* store, WorkRecord work);
  ~Adoption();

  void Start();
  void Stop();

  // Has entries of families that are no more replicated removed. Returns once
  // that is written down.
  rocksdb::Status RequestPurge();

  AdoptionProgress Progress() const;
  rocksdb::Status Wait(uint64_t timeout_ms) const;

 private:
  // A pair that was read, to be judged under its lock.
  struct Candidate {
    std::string key;
    uint64_t position = 0;
    ValueHash value;
  };

  WorkRecord Current() const;
  void Run();
  rocksdb::Status Work();
  rocksdb::Status Purge();
  rocksdb::Status ReadFamily(const Family& family, uint8_t work);
  rocksdb::Status CheckIndex();
  rocksdb::Status JudgePairs(const Family& family, uint8_t work,
                             const std::vector<Candidate>& candidates);
  rocksdb::Status JudgePair(const Family& family, uint8_t work,
                            const Candidate& candidate,
                            rocksdb::WriteBatch* batch);
  rocksdb::Status JudgeEntry(const Family& family, const IndexKey& key,
                             rocksdb::WriteBatch* batch);
  // Whether RocksDB's newest record of the key is later than all of ours.
  rocksdb::Status ForeignWrite(const Family& family, const std::string& key,
                               bool* foreign) const;
  // Writes `batch` and the work record, which must stand last.
  rocksdb::Status Commit(rocksdb::WriteBatch* batch);
  rocksdb::Status FinishFamily(uint32_t family_id);
  rocksdb::Status Finish();
  uint64_t EstimatePairs() const;

  Store* const store_;
  std::thread thread_;
  std::atomic<bool> stop_{false};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  WorkRecord work_;  // written by the thread alone, and by RequestPurge
  bool pending_ = false;
  uint64_t estimate_ = 0;
  rocksdb::Status last_error_;
  std::atomic<uint64_t> pairs_read_{0};  // since this opening
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_ADOPTION_H_

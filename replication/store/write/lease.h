// The lease: a reading of the clock, written down ahead and synced, that no
// version issued or observed passes. After any crash the clock starts from it,
// so a version is never issued twice, even if the tail of the WAL is lost.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_LEASE_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_LEASE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "replication/store/write/clock.h"
#include "rocksdb/db.h"

namespace rocksync {

// What is taken ahead is what versions may lead the wall clock by after a
// crash, so it is short, and a thread renews it before it runs out: while
// versions are issued and for a while longer, and not at all once they rest.
// Thread-safe.
class Lease {
 public:
  // In clock readings. Taken ahead at a time, and renewed at the half of it.
  static constexpr uint64_t kTerm = uint64_t{1000} << 16;

  // `until`: what is written down now. `clock` must outlive the lease.
  Lease(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index, uint64_t until,
        const HybridClock* clock)
      : db_(db), index_(index), clock_(clock), until_(until) {}
  ~Lease() { Stop(); }

  // Starts the thread. Without it every renewal is done by who needs it.
  void Start();
  // Nothing is renewed by itself any more.
  void Stop();

  // OK once the lease covers `time`. Nearly always one load; a synced write
  // after a rest, or if the disk is slower to sync than the lease runs out.
  // Incomplete, only unless `may_wait`: RocksDB stalls writes, or somebody else
  // is at the renewal; try again.
  rocksdb::Status Cover(uint64_t time, bool may_wait = true) {
    if (time < renew_at_.load(std::memory_order_acquire)) {
      return rocksdb::Status::OK();
    }
    return CoverSlowly(time, may_wait);
  }

  // What is written down now.
  uint64_t until() const { return until_.load(std::memory_order_acquire); }

 private:
  rocksdb::Status CoverSlowly(uint64_t time, bool may_wait);
  rocksdb::Status Renew(uint64_t time, bool may_wait);
  uint64_t Wall() const;
  void WakeThread();
  void Run();
  void RenewUntilRest(std::unique_lock<std::mutex>* lock);

  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const index_;
  const HybridClock* const clock_;
  std::atomic<uint64_t> until_;  // never goes back
  std::atomic<uint64_t> renew_at_{0};
  std::mutex renewal_;

  // Of the thread; never held across a write.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> awake_{false};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_LEASE_H_

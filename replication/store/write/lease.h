// The lease: a reading of the clock that is written and synced ahead of time,
// and that every version issued or observed stays below. After a crash the
// clock starts from it, so no version is issued twice, even if the WAL's tail
// is lost.

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

// Renews the lease. After a crash versions may lead the wall clock by what is
// taken ahead, so the term is short. A thread renews the lease before it runs
// out: while versions are issued and for a while longer, but not while none
// are. Thread-safe.
class Lease {
 public:
  // How much is taken ahead at a time, in clock readings. Renewed at half of
  // it.
  static constexpr uint64_t kTerm = uint64_t{1000} << 16;

  // `until`: the lease that is on disk now. `clock` must outlive the lease.
  Lease(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index, uint64_t until,
        const HybridClock* clock)
      : db_(db), index_(index), clock_(clock), until_(until) {}
  ~Lease() { Stop(); }

  // Starts the thread. Without it, each renewal is done by the caller that
  // needs it.
  void Start();
  // Stops the thread: nothing is renewed by itself any more.
  void Stop();

  // Returns OK once the lease covers `time`. This is nearly always one load. It
  // is a synced write after a rest, or if a sync of the disk takes longer than
  // the lease lasts. Without `may_wait` it may return Incomplete: RocksDB
  // stalls writes, or another thread is renewing the lease; try again.
  rocksdb::Status Cover(uint64_t time, bool may_wait = true) {
    if (time < renew_at_.load(std::memory_order_acquire)) {
      return rocksdb::Status::OK();
    }
    return CoverSlowly(time, may_wait);
  }

  // Returns the lease that is on disk now.
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

  // For the thread; mutex_ is never held across a write.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> awake_{false};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_LEASE_H_

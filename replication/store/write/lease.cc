#include "replication/store/write/lease.h"

#include <algorithm>
#include <chrono>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kRenewAhead = Lease::kTerm / 2;
// The least that is taken ahead of the clock. A clock that leads the wall
// clock, as after a crash, advances by the number of versions and not by time,
// and this is a million of them. If it were a full term, several crashes in a
// row would add up to a clock so far ahead that peers hold its versions back.
constexpr uint64_t kLeadTerm = uint64_t{20} << 16;

// How often the thread looks, so that at least a quarter of the term is left
// for the sync.
constexpr auto kLook = std::chrono::milliseconds((Lease::kTerm >> 16) / 4);
// A rest: no version for so long. The first version after it waits for a sync.
constexpr auto kRest = std::chrono::seconds(10);

}  // namespace

uint64_t Lease::Wall() const { return db_->GetEnv()->NowMicros() / 1000 << 16; }

rocksdb::Status Lease::CoverSlowly(uint64_t time, bool may_wait) {
  WakeThread();
  if (time < until_.load(std::memory_order_acquire)) {
    return rocksdb::Status::OK();
  }
  return Renew(time, may_wait);
}

rocksdb::Status Lease::Renew(uint64_t time, bool may_wait) {
  std::unique_lock renewal(renewal_, std::defer_lock);
  if (may_wait) {
    renewal.lock();
  } else if (!renewal.try_lock()) {
    return rocksdb::Status::Incomplete("another thread renews the lease");
  }
  if (time < renew_at_.load(std::memory_order_acquire)) {
    return rocksdb::Status::OK();
  }
  const uint64_t until = std::max({until_.load(std::memory_order_acquire),
                                   time + kLeadTerm, Wall() + kTerm});
  rocksdb::WriteOptions options;
  options.no_slowdown = !may_wait;
  rocksdb::Status status =
      db_->Put(options, index_, MetaKey(kLeaseRecord), EncodeLease(until));
  // A synced write would keep all other writers out while the disk takes in
  // everything since the last sync.
  if (status.ok()) status = db_->FlushWAL(/*sync=*/true);
  if (status.IsNotSupported()) {  // WAL files that are written through mmap
    options.sync = true;
    status =
        db_->Put(options, index_, MetaKey(kLeaseRecord), EncodeLease(until));
  }
  if (status.ok()) {
    until_.store(until, std::memory_order_release);
    renew_at_.store(until - std::min(kRenewAhead, (until - time) / 2),
                    std::memory_order_release);
  }
  return status;
}

void Lease::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Lease::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Lease::WakeThread() {
  if (awake_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(mutex_);
    awake_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

void Lease::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || awake_; });
    RenewUntilRest(&lock);
  }
}

void Lease::RenewUntilRest(std::unique_lock<std::mutex>* lock) {
  uint64_t last = 0;
  SteadyClock::time_point at;
  while (!stopping_) {
    const uint64_t now = clock_->Last();
    if (now != last) {
      last = now;
      at = SteadyClock::now();
    } else if (SteadyClock::now() - at > kRest) {
      awake_.store(false, std::memory_order_relaxed);
      return;
    }
    const uint64_t time = std::max(last, Wall());
    if (time >= renew_at_.load(std::memory_order_acquire)) {
      lock->unlock();
      // On an error the caller that needs it renews the lease, and reports the
      // error.
      Renew(time, /*may_wait=*/false).PermitUncheckedError();
      lock->lock();
    }
    changed_.wait_for(*lock, kLook, [this] { return stopping_; });
  }
}

}  // namespace rocksync

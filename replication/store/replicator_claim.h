// Claims a database for one replicator. Two replicators would each keep limits
// and figures of their own.

#ifndef ROCKSYNC_REPLICATION_STORE_REPLICATOR_CLAIM_H_
#define ROCKSYNC_REPLICATION_STORE_REPLICATOR_CLAIM_H_

#include <functional>
#include <mutex>
#include <utility>

namespace rocksync {

// A claim on a database. Thread-safe. The database and its replicator share it,
// so that it outlives both.
class ReplicatorClaim {
 public:
  // Returns false if another replicator has the claim. `stop` stops
  // `replicator`.
  bool Take(const void* replicator, std::function<void()> stop) {
    const std::lock_guard lock(mutex_);
    if (holder_ != nullptr) return false;
    holder_ = replicator;
    stop_ = std::move(stop);
    return true;
  }

  // Does nothing if `replicator` does not have the claim.
  void Release(const void* replicator) {
    const std::lock_guard lock(mutex_);
    if (holder_ != replicator) return;
    holder_ = nullptr;
    stop_ = nullptr;
  }

  bool held() const {
    const std::lock_guard lock(mutex_);
    return holder_ != nullptr;
  }

  // Stops the replicator that has the claim, if there is one.
  void StopHolder() {
    // The lock is held while `stop` runs, so that a replicator that another
    // thread is destroying waits in Release until it is stopped.
    const std::lock_guard lock(mutex_);
    // Calls a copy: the replicator releases the claim at the end.
    if (const std::function<void()> stop = stop_; stop != nullptr) stop();
  }

 private:
  // Recursive: the replicator that StopHolder stops calls Release on this
  // thread.
  mutable std::recursive_mutex mutex_;
  const void* holder_ = nullptr;
  std::function<void()> stop_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_REPLICATOR_CLAIM_H_

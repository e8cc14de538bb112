// Which replicator runs on a database: one at most, as two would each keep
// limits and figures of their own.

#ifndef ROCKSYNC_REPLICATION_STORE_REPLICATOR_CLAIM_H_
#define ROCKSYNC_REPLICATION_STORE_REPLICATOR_CLAIM_H_

#include <functional>
#include <mutex>
#include <utility>

namespace rocksync {

// Thread-safe. Shared by the database and its replicator, so that it outlives
// both.
class ReplicatorClaim {
 public:
  // False: another replicator has it. `stop` stops `replicator`.
  bool Take(const void* replicator, std::function<void()> stop) {
    const std::lock_guard lock(mutex_);
    if (holder_ != nullptr) return false;
    holder_ = replicator;
    stop_ = std::move(stop);
    return true;
  }

  // Nothing if `replicator` does not have it.
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

  // Stops the replicator that has it, if there is one.
  void StopHolder() {
    // Held while `stop` runs, so that a replicator which is being destroyed by
    // another thread waits in Release until it is stopped.
    const std::lock_guard lock(mutex_);
    // A copy: the replicator releases the claim at the end.
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

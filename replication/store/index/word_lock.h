// A mutex of four bytes, for use by the thousand.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_WORD_LOCK_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_WORD_LOCK_H_

#include <atomic>
#include <cstdint>

namespace rocksync {

// A mutex that meets the standard's requirements of Lockable. Not recursive,
// not fair.
class WordLock {
 public:
  void lock() {
    if (try_lock()) return;
    // A waiting thread marks the lock contended, and takes it in that state, as
    // other threads may be waiting, too.
    while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
      state_.wait(kContended, std::memory_order_relaxed);
    }
  }
  bool try_lock() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(
        free, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kContended) {
      state_.notify_one();
    }
  }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kHeld = 1;
  static constexpr uint32_t kContended = 2;

  std::atomic<uint32_t> state_{kFree};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_WORD_LOCK_H_

// How many sessions a replica is in at once, one by default: a replica takes
// partitions from one peer at a time, or two peers would both ship it the same
// pairs.

#ifndef ROCKSYNC_REPLICATION_SESSION_SLOTS_H_
#define ROCKSYNC_REPLICATION_SESSION_SLOTS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace rocksync {

class SessionSlots;

// A slot held, given back on destruction. Empty: none was to be had.
class SessionSlot {
 public:
  SessionSlot() = default;
  explicit SessionSlot(SessionSlots* slots) : slots_(slots) {}
  SessionSlot(SessionSlot&& other) noexcept
      : slots_(std::exchange(other.slots_, nullptr)) {}
  SessionSlot& operator=(SessionSlot&& other) noexcept {
    std::swap(slots_, other.slots_);
    return *this;
  }
  ~SessionSlot();

  explicit operator bool() const { return slots_ != nullptr; }

 private:
  SessionSlots* slots_ = nullptr;
};

// Thread-safe. Must outlive its slots.
class SessionSlots {
 public:
  // Takes effect for sessions that begin from now on.
  void SetCapacity(size_t capacity);

  // While paused there is no slot.
  void SetPaused(bool paused);
  bool paused() const;

  // No slot any more; wakes who waits.
  void Stop();

  // Waits for a slot at most this long. Does not wait while paused.
  SessionSlot Acquire(std::chrono::milliseconds wait);

 private:
  friend class SessionSlot;
  void Release();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t capacity_ = 1;
  size_t used_ = 0;
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SLOTS_H_

// How many sessions a replica is in at once, one by default: a replica takes
// partitions from one peer at a time, or two peers would both ship it the same
// pairs. An incoming peer that is refused has to come again, and finds a slot
// then only if this replica's own sessions leave a gap: they wait a moment for
// it.

#ifndef ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_
#define ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_

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
  // `courtesy`: how long after a refusal the incoming peer is expected back;
  // more than the pause after which replicas try again.
  explicit SessionSlots(std::chrono::milliseconds courtesy = kCourtesy)
      : courtesy_(courtesy) {}

  // Takes effect for sessions that begin from now on.
  void SetCapacity(size_t capacity);

  // While paused there is no slot.
  void SetPaused(bool paused);
  bool paused() const;

  // No slot any more; wakes the threads that wait.
  void Stop();

  // Both wait for a slot at most this long, and not at all while paused. The
  // first is for sessions of this replica's own: an incoming peer that was
  // refused is let in before them, if it comes in time.
  SessionSlot Acquire(std::chrono::milliseconds wait);
  SessionSlot AcquireForIncoming(std::chrono::milliseconds wait);

 private:
  friend class SessionSlot;
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kCourtesy{300};

  bool never() const { return stopped_ || paused_; }
  SessionSlot Take(std::unique_lock<std::mutex>* lock, Clock::time_point until);
  void Release();

  const std::chrono::milliseconds courtesy_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t capacity_ = 1;
  size_t used_ = 0;
  Clock::time_point incoming_expected_until_;  // in the past: none is
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_

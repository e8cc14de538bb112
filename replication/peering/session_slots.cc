#include "replication/peering/session_slots.h"

#include <algorithm>

namespace rocksync {

SessionSlot::~SessionSlot() {
  if (slots_ != nullptr) slots_->Release();
}

void SessionSlots::SetCapacity(size_t capacity) {
  {
    const std::lock_guard lock(mutex_);
    capacity_ = capacity;
  }
  changed_.notify_all();
}

void SessionSlots::SetPaused(bool paused) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
  }
  changed_.notify_all();
}

bool SessionSlots::paused() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

void SessionSlots::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

SessionSlot SessionSlots::Acquire(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const Clock::time_point until = Clock::now() + wait;
  // Once for each session, whoever else is refused meanwhile.
  changed_.wait_until(lock, std::min(until, incoming_expected_until_), [this] {
    return never() || Clock::now() >= incoming_expected_until_;
  });
  if (until < incoming_expected_until_) return SessionSlot();
  return Take(&lock, until);
}

SessionSlot SessionSlots::AcquireForIncoming(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  SessionSlot slot = Take(&lock, Clock::now() + wait);
  if (slot) {
    incoming_expected_until_ = Clock::time_point();
  } else if (!never()) {
    incoming_expected_until_ = Clock::now() + courtesy_;
  }
  changed_.notify_all();
  return slot;
}

SessionSlot SessionSlots::Take(std::unique_lock<std::mutex>* lock,
                               Clock::time_point until) {
  changed_.wait_until(*lock, until,
                      [this] { return never() || used_ < capacity_; });
  if (never() || used_ >= capacity_) return SessionSlot();
  ++used_;
  return SessionSlot(this);
}

void SessionSlots::Release() {
  {
    const std::lock_guard lock(mutex_);
    --used_;
  }
  changed_.notify_all();
}

}  // namespace rocksync

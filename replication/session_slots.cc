#include "replication/session_slots.h"

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
  const auto never = [this] { return stopped_ || paused_; };
  changed_.wait_for(lock, wait, [&] { return never() || used_ < capacity_; });
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

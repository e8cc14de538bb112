#include "replication/peering/session_slots.h"

#include <algorithm>
#include <utility>

namespace rocksync {

namespace {

// Over which time a link is judged.
constexpr std::chrono::seconds kWindow{5};
// A session of which less comes and goes is one over a slow link.
constexpr uint64_t kSlowBytesPerSecond = uint64_t{1} << 20;
// Less are heartbeats: one side readies its digests, and then ships at a speed
// that is not known yet.
constexpr uint64_t kHeartbeatBytes = 1024;

}  // namespace

SessionSlot::~SessionSlot() {
  if (slots_ != nullptr) slots_->Release(number_);
}

void SessionSlot::Watch(std::function<uint64_t()> carried) const {
  if (slots_ != nullptr) slots_->Watch(number_, std::move(carried));
}

void SessionSlots::Watch(uint64_t number, std::function<uint64_t()> carried) {
  const std::lock_guard lock(mutex_);
  Holder* const holder = &holders_.at(number);
  holder->bytes = carried();
  holder->since = now_();
  holder->carried = std::move(carried);
}

void SessionSlots::Judge(Clock::time_point now, Holder* holder) {
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::seconds>(now - holder->since);
  if (holder->carried == nullptr || elapsed < kWindow) return;
  const uint64_t bytes = holder->carried();
  const uint64_t moved = bytes - std::exchange(holder->bytes, bytes);
  holder->since = now;
  holder->slow =
      moved > kHeartbeatBytes &&
      moved / static_cast<uint64_t>(elapsed.count()) < kSlowBytesPerSecond;
}

bool SessionSlots::HasRoom() {
  size_t slow = 0;
  for (auto& [number, holder] : holders_) {
    Judge(now_(), &holder);
    if (holder.slow) ++slow;
  }
  return holders_.size() - std::min(slow, kMostSlow) < capacity_;
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
  changed_.wait_until(*lock, until, [this] { return never() || HasRoom(); });
  if (never() || !HasRoom()) return SessionSlot();
  holders_.try_emplace(++last_number_);
  return SessionSlot(this, last_number_);
}

void SessionSlots::Release(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    holders_.erase(number);
  }
  changed_.notify_all();
}

}  // namespace rocksync

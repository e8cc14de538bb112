#include "replication/peering/session_slots.h"

#include <algorithm>
#include <utility>

namespace rocksync {

namespace {

// The time span over which a link is judged.
constexpr std::chrono::seconds kWindow{5};
// A peer without a byte for this long is frozen, stalled or gone: one that
// works on its turn sends a heartbeat each second (Heartbeat).
constexpr std::chrono::seconds kSilence{2};
// A session that carries less than this, both ways, is one over a slow link.
constexpr uint64_t kSlowBytesPerSecond = uint64_t{1} << 20;

}  // namespace

SessionSlot::~SessionSlot() {
  if (slots_ != nullptr) slots_->Release(number_);
}

void SessionSlot::Watch(std::function<Progress()> progress) const {
  if (slots_ != nullptr) slots_->Watch(number_, std::move(progress));
}

void SessionSlots::Watch(uint64_t number,
                         std::function<SessionSlot::Progress()> progress) {
  const std::lock_guard lock(mutex_);
  Holder* const holder = &holders_.at(number);
  holder->bytes = holder->last_bytes = progress().bytes;
  holder->since = holder->last_moved = now_();
  holder->progress = std::move(progress);
}

// Bytes that came or went since the last look count as moved just now, unless
// they moved before this side began to wait.
void SessionSlots::JudgeSilence(Clock::time_point now,
                                const SessionSlot::Progress& progress,
                                Holder* holder) {
  const bool moved =
      std::exchange(holder->last_bytes, progress.bytes) != progress.bytes;
  holder->silent_for = {};
  if (moved) holder->last_moved = now;
  if (!progress.peer_wait.has_value()) return;
  if (progress.peer_wait->bytes == progress.bytes) {
    holder->last_moved = progress.peer_wait->since;
  }
  const auto silent_for = now - holder->last_moved;
  if (silent_for >= kSilence) holder->silent_for = silent_for;
}

void SessionSlots::Judge(Clock::time_point now, Holder* holder) {
  if (holder->progress == nullptr) return;
  const SessionSlot::Progress progress = holder->progress();
  JudgeSilence(now, progress, holder);
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::seconds>(now - holder->since);
  if (elapsed < kWindow) return;
  const uint64_t moved =
      progress.bytes - std::exchange(holder->bytes, progress.bytes);
  holder->since = now;
  holder->slow =
      progress.only_sends &&
      moved / static_cast<uint64_t>(elapsed.count()) < kSlowBytesPerSecond;
}

bool SessionSlots::HasRoom(uint64_t peer_id) {
  size_t lent = 0;
  for (auto& [number, holder] : holders_) {
    if (holder.peer_id == peer_id) return false;
    Judge(now_(), &holder);
    if (holder.slow || holder.silent_for > Clock::duration::zero()) ++lent;
  }
  return holders_.size() - std::min(lent, kMaxLent) < capacity_;
}

std::chrono::milliseconds SessionSlots::SilentFor(uint64_t peer_id) const {
  const std::lock_guard lock(mutex_);
  for (auto& [number, holder] : holders_) {
    if (holder.peer_id != peer_id) continue;
    Judge(now_(), &holder);
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        holder.silent_for);
  }
  return std::chrono::milliseconds(0);
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

SessionSlot SessionSlots::Acquire(uint64_t peer_id,
                                  std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const Clock::time_point until = Clock::now() + wait;
  // The session waits once for an incoming peer, even if another one is refused
  // meanwhile.
  changed_.wait_until(lock, std::min(until, incoming_expected_until_), [this] {
    return never() || Clock::now() >= incoming_expected_until_;
  });
  if (until < incoming_expected_until_) return SessionSlot();
  return Take(peer_id, &lock, until);
}

SessionSlot SessionSlots::AcquireForIncoming(uint64_t peer_id,
                                             std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  SessionSlot slot = Take(peer_id, &lock, Clock::now() + wait);
  if (slot) {
    incoming_expected_until_ = Clock::time_point();
  } else if (!never()) {
    incoming_expected_until_ = Clock::now() + courtesy_;
  }
  changed_.notify_all();
  return slot;
}

SessionSlot SessionSlots::Take(uint64_t peer_id,
                               std::unique_lock<std::mutex>* lock,
                               Clock::time_point until) {
  changed_.wait_until(*lock, until,
                      [&] { return never() || HasRoom(peer_id); });
  if (never() || !HasRoom(peer_id)) return SessionSlot();
  holders_[++last_number_].peer_id = peer_id;
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

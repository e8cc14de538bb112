// How many sessions a replica is in at once, one by default: a replica takes
// partitions from one peer at a time, or two peers would both ship it the same
// pairs. Nor is it in two sessions with one peer. Up to three sessions lend
// their slots to others: one over a slow link, which may take hours, if this
// replica only sends in it, so that no other session could bring the same; and
// one whose peer is silent, which may have frozen, until io_timeout ends it. An
// incoming peer that is refused has to come again, and finds a slot then only
// if this replica's own sessions leave a gap: they wait a moment for it.

#ifndef ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_
#define ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "replication/peering/peer_wait.h"

namespace rocksync {

// What a peer is told of a replica that is paused, after its name.
inline constexpr char kPausedText[] =
    "is paused; Replicator::Resume there, of the store REPLICATION RESUME, "
    "ends that";

class SessionSlots;

// A slot held, given back on destruction. Empty: none was to be had.
class SessionSlot {
 public:
  SessionSlot() = default;
  SessionSlot(SessionSlots* slots, uint64_t number)
      : slots_(slots), number_(number) {}
  SessionSlot(SessionSlot&& other) noexcept
      : slots_(std::exchange(other.slots_, nullptr)), number_(other.number_) {}
  SessionSlot& operator=(SessionSlot&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~SessionSlot();

  struct Progress {
    uint64_t bytes = 0;       // that the connection has carried
    bool only_sends = false;  // this side ships pairs, and is to receive none
    std::optional<PeerWait::Wait> peer_wait = std::nullopt;
  };
  // Tells whether the session may lend its slot. Called on any thread until the
  // slot goes.
  void Watch(std::function<Progress()> progress) const;

  explicit operator bool() const { return slots_ != nullptr; }

 private:
  SessionSlots* slots_ = nullptr;
  uint64_t number_ = 0;
};

// Thread-safe. Must outlive its slots.
class SessionSlots {
 public:
  using Clock = std::chrono::steady_clock;

  // `courtesy`: how long after a refusal the incoming peer is expected back;
  // more than the pause after which replicas try again. `now`: of what is slow
  // or silent.
  explicit SessionSlots(std::chrono::milliseconds courtesy = kCourtesy,
                        std::function<Clock::time_point()> now = Clock::now)
      : courtesy_(courtesy), now_(std::move(now)) {}

  // Takes effect for sessions that begin from now on.
  void SetCapacity(size_t capacity);

  // While paused there is no slot.
  void SetPaused(bool paused);
  bool paused() const;

  // No slot any more; wakes the threads that wait.
  void Stop();

  // Both wait for a slot for a session with that peer at most this long, and
  // not at all while paused. The first is for sessions of this replica's own:
  // an incoming peer that was refused is let in before them, if it comes in
  // time.
  SessionSlot Acquire(uint64_t peer_id, std::chrono::milliseconds wait);
  SessionSlot AcquireForIncoming(uint64_t peer_id,
                                 std::chrono::milliseconds wait);

  // How long the peer, whose turn it is in a session, has been silent; 0: it is
  // not, or not for two seconds.
  std::chrono::milliseconds SilentFor(uint64_t peer_id) const;

 private:
  friend class SessionSlot;
  static constexpr std::chrono::milliseconds kCourtesy{300};
  static constexpr size_t kMaxLent = 3;

  struct Holder {
    uint64_t peer_id = 0;
    std::function<SessionSlot::Progress()> progress;
    // Since then, what it had carried by then, and what was so before.
    Clock::time_point since{};
    uint64_t bytes = 0;
    bool slow = false;
    // What it had carried when it was last looked at, and since when.
    uint64_t last_bytes = 0;
    Clock::time_point last_moved{};
    Clock::duration silent_for{};  // 0: not long enough to count
  };

  static void JudgeSilence(Clock::time_point now,
                           const SessionSlot::Progress& progress,
                           Holder* holder);
  static void Judge(Clock::time_point now, Holder* holder);
  bool HasRoom(uint64_t peer_id);
  void Watch(uint64_t number, std::function<SessionSlot::Progress()> progress);

  bool never() const { return stopped_ || paused_; }
  SessionSlot Take(uint64_t peer_id, std::unique_lock<std::mutex>* lock,
                   Clock::time_point until);
  void Release(uint64_t number);

  const std::chrono::milliseconds courtesy_;
  const std::function<Clock::time_point()> now_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t capacity_ = 1;
  // By the slot's number. What is looked at is remembered.
  mutable std::map<uint64_t, Holder> holders_;
  uint64_t last_number_ = 0;
  Clock::time_point incoming_expected_until_;  // in the past: none is
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_

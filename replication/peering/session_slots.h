// Limits how many sessions a replica is in at once, by default one: if two
// peers were in sessions with it, both would ship it the same pairs. A replica
// is never in two sessions with one peer.
//
// Up to three sessions lend their slots to others. A session over a slow link,
// which may take hours, lends its slot if this replica only sends in it, since
// then no other session could bring the same pairs. A session whose peer is
// silent, and may have frozen, lends its slot until io_timeout ends it.
//
// An incoming peer that is refused has to come again. So that it finds a slot
// then, this replica's own sessions wait a moment for it.

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

// The text that a peer is told of a paused replica, after the replica's name.
inline constexpr char kPausedText[] =
    "is paused; Replicator::Resume there, of the store REPLICATION RESUME, "
    "ends that";

class SessionSlots;

// A slot, released on destruction. An empty one means that no slot was free.
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
    uint64_t bytes = 0;       // carried by the connection, both ways
    bool only_sends = false;  // this side ships pairs, and is to receive none
    std::optional<PeerWait::Wait> peer_wait = std::nullopt;
  };
  // Sets the function by which SessionSlots judges whether the session lends
  // its slot. It is called on any thread until the slot is released.
  void Watch(std::function<Progress()> progress) const;

  explicit operator bool() const { return slots_ != nullptr; }

 private:
  SessionSlots* slots_ = nullptr;
  uint64_t number_ = 0;
};

// Hands out the slots. Thread-safe. Must outlive its slots.
class SessionSlots {
 public:
  using Clock = std::chrono::steady_clock;

  // `courtesy`: how long after a refusal the incoming peer is expected back;
  // must be longer than the pause after which replicas try again. `now`: the
  // clock by which a session is judged slow or silent.
  explicit SessionSlots(std::chrono::milliseconds courtesy = kCourtesy,
                        std::function<Clock::time_point()> now = Clock::now)
      : courtesy_(courtesy), now_(std::move(now)) {}

  // Sets how many sessions may run at once, for sessions that begin from now
  // on.
  void SetCapacity(size_t capacity);

  // While paused, no slot is handed out.
  void SetPaused(bool paused);
  bool paused() const;

  // Hands out no more slots, and wakes the threads that wait for one.
  void Stop();

  // Acquire and AcquireForIncoming wait for a slot for a session with that
  // peer, at most for `wait`, and not at all while paused. Acquire is for
  // sessions that this replica dials: an incoming peer that was refused goes
  // before them, if it comes back in time.
  SessionSlot Acquire(uint64_t peer_id, std::chrono::milliseconds wait);
  SessionSlot AcquireForIncoming(uint64_t peer_id,
                                 std::chrono::milliseconds wait);

  // Returns how long the peer, if it is its turn in a session, has been silent.
  // 0: it is not silent, or for less than two seconds.
  std::chrono::milliseconds SilentFor(uint64_t peer_id) const;

 private:
  friend class SessionSlot;
  static constexpr std::chrono::milliseconds kCourtesy{300};
  static constexpr size_t kMaxLent = 3;

  struct Holder {
    uint64_t peer_id = 0;
    std::function<SessionSlot::Progress()> progress;
    // The time span over which the link is judged: its start, the bytes carried
    // by then, and the verdict of the span before.
    Clock::time_point since{};
    uint64_t bytes = 0;
    bool slow = false;
    // Bytes carried when last looked at, and when a byte was last seen to move.
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
  // By slot number. Mutable, since judging a holder updates it.
  mutable std::map<uint64_t, Holder> holders_;
  uint64_t last_number_ = 0;
  Clock::time_point incoming_expected_until_;  // in the past: none is expected
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SESSION_SLOTS_H_

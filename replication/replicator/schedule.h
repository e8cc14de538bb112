// Decides when to meet which peer. Pure: time and chance are arguments.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SCHEDULE_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sketch/element/split_mix.h"

namespace rocksync {

struct ScheduleOptions {
  // The time between sessions with a peer, +-25 %; 0: only when asked.
  uint64_t interval_ms = 10'000;
  // The pause after a failure, doubled with each further one up to
  // max_backoff_ms, +-25 %.
  uint64_t first_backoff_ms = 1'000;
  uint64_t max_backoff_ms = 300'000;
  // The pause after "busy", doubled with each further one up to the interval
  // (up to max_backoff_ms, if the interval is 0), +-50 %.
  uint64_t busy_ms = 50;
  // If there are more peers than this, they take turns, and so many have theirs
  // within an interval; 0: all are met at each interval. A round of turns is a
  // random order of all peers. A peer that fails, or is busy, is tried again as
  // above until the pause has grown to the interval; then it waits for its next
  // turn.
  size_t max_peers_per_interval = 0;
};

enum class SessionOutcome : uint8_t {
  kProven,     // proven equal
  kNotProven,  // succeeded without a proof: again at the interval
  kExpired,    // there is more to do: again at once
  kBusy,       // the peer, or this replica, was in another session
  kFailed,
};

// Holds when each peer is due. Peers are numbered from 0, and a number is never
// reused; calls for a removed peer have no effect. Not thread-safe. `now_ms` is
// monotonic.
class Schedule {
 public:
  // Makes a schedule for `peers` peers, whose first sessions are spread over
  // one interval.
  Schedule(const ScheduleOptions& options, size_t peers, uint64_t seed,
           uint64_t now_ms);

  // Adds a peer, which is due now, or has one of the next turns. Returns its
  // number.
  size_t Add(uint64_t now_ms);
  void Remove(size_t peer, uint64_t now_ms);

  // Makes the next peer due if its turn has come. Missed turns are skipped.
  // Called before each Due.
  void GiveTurn(uint64_t now_ms);

  // Makes a peer due now, or soon if it was busy, whatever went before. If a
  // session is under way, the peer is due again when it ends, since its
  // snapshot may be older than what was asked for.
  void Ask(size_t peer, uint64_t now_ms);
  // Makes the peers that are to be tried again after a failure due now, since
  // the cause of the failures is gone. The next failure of each counts as the
  // first. Peers that wait for their turns go on waiting.
  void RetryFailed(uint64_t now_ms);
  // Notes that a session with the peer begins, which serves all calls of Ask so
  // far.
  void Begins(size_t peer);

  // Returns the peer that is due, the longest overdue first; nullopt if none
  // is. `except` are peers that are being met already.
  std::optional<size_t> Due(uint64_t now_ms,
                            const std::set<size_t>& except = {}) const;
  // Returns when the next peer or turn is due; nullopt: not before a call of
  // Ask.
  std::optional<uint64_t> NextDueMs(const std::set<size_t>& except = {}) const;

  // Notes that a session with `peer` ended, whichever side began it: a peer
  // that dialed this replica need not be dialed so soon.
  void Ended(size_t peer, SessionOutcome outcome, uint64_t now_ms);

  // Returns true if this peer is not met before its next turn, unless Ask is
  // called.
  bool WaitsForItsTurn(size_t peer) const;

 private:
  struct Peer {
    std::optional<uint64_t> due_ms;
    uint32_t failures = 0;
    uint32_t busy = 0;
    bool asked = false;
  };

  // Returns between (1 - spread) and (1 + spread) times `ms`.
  uint64_t Jitter(uint64_t ms, double spread);
  std::optional<uint64_t> After(Peer* peer, SessionOutcome outcome,
                                uint64_t now_ms);
  // Returns when to try again, about `ms` from now; nullopt: at the peer's next
  // turn.
  std::optional<uint64_t> Retry(uint64_t ms, double spread, uint64_t now_ms);
  bool TakesTurns() const {
    return options_.interval_ms > 0 && options_.max_peers_per_interval > 0 &&
           peers_.size() > options_.max_peers_per_interval;
  }
  // Removes a random one of `peers`, and returns it.
  size_t TakeAny(std::vector<size_t>* peers);
  void HadItsTurn(size_t peer);

  const ScheduleOptions options_;
  SplitMix random_;
  std::map<size_t, Peer> peers_;
  size_t next_ = 0;  // the next peer's number
  // Peers that have not had their turns in this round.
  std::vector<size_t> turns_;
  std::vector<size_t> newcomers_;  // new peers, which have the next turns
  uint64_t next_turn_ms_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SCHEDULE_H_

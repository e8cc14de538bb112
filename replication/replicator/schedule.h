// When to meet which peer. Pure: time and chance are arguments.

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
  // A session with each peer about this often, +-25 %; 0: only when asked.
  uint64_t interval_ms = 10'000;
  // After a failure: this long, doubled with each further one, +-25 %.
  uint64_t first_backoff_ms = 1'000;
  uint64_t max_backoff_ms = 300'000;
  // After "busy": this long, doubled with each further one, +-50 %, but never
  // longer than the interval.
  uint64_t busy_ms = 50;
  // With more peers than this they take turns, and so many have theirs within
  // an interval; 0: all are met at each interval. A round of turns is a random
  // order of all. Who fails, or is busy, is tried again as above until the
  // pause has grown to the interval; then it waits for its next turn.
  size_t max_peers_per_interval = 0;
};

enum class SessionOutcome : uint8_t {
  kProven,     // equal
  kNotProven,  // went well, but did not prove it: once more at the interval
  kExpired,    // there is more to do: at once
  kBusy,       // the peer, or this replica, was in another session
  kFailed,
};

// Peers are numbered from 0, and a number is not used again; what is said of a
// peer that was removed counts for nothing. Not thread-safe. `now_ms` is
// monotonic.
class Schedule {
 public:
  // The first sessions are spread over one interval.
  Schedule(const ScheduleOptions& options, size_t peers, uint64_t seed,
           uint64_t now_ms);

  // One more peer, which is due now, or has one of the next turns; its number.
  size_t Add(uint64_t now_ms);
  void Remove(size_t peer, uint64_t now_ms);

  // Makes the next peer due if its turn has come. Missed turns are skipped.
  // Before each Due.
  void GiveTurn(uint64_t now_ms);

  // Makes a peer due now, whatever went before; again once the session that is
  // under way is over, since its snapshot may be older than what was asked for.
  void Ask(size_t peer, uint64_t now_ms);
  // What kept sessions from success is over: who is to be tried again after a
  // failure is due now, and its next failure counts as the first. Who waits for
  // its turn goes on to.
  void RetryFailed(uint64_t now_ms);
  // A session with the peer begins, and serves who has asked so far.
  void Begins(size_t peer);

  // The peer that is due, the longest overdue first; nullopt if none is. Those
  // of `except` are met by somebody already.
  std::optional<size_t> Due(uint64_t now_ms,
                            const std::set<size_t>& except = {}) const;
  // When the next one is due, or a turn is; nullopt: not before somebody asks.
  std::optional<uint64_t> NextDueMs(const std::set<size_t>& except = {}) const;

  // A session with `peer` ended. It makes no difference who began it: a peer
  // that came by itself need not be visited so soon.
  void Ended(size_t peer, SessionOutcome outcome, uint64_t now_ms);

  // Nobody goes to this peer before its next turn, unless somebody asks.
  bool WaitsForItsTurn(size_t peer) const;

 private:
  struct Peer {
    std::optional<uint64_t> due_ms;
    uint32_t failures = 0;
    uint32_t busy = 0;
    bool asked = false;
  };

  // Between (1 - spread) and (1 + spread) times `ms`.
  uint64_t Jitter(uint64_t ms, double spread);
  std::optional<uint64_t> After(Peer* peer, SessionOutcome outcome,
                                uint64_t now_ms);
  // When to try again, `ms` from now or so; nullopt: at its next turn.
  std::optional<uint64_t> Retry(uint64_t ms, double spread, uint64_t now_ms);
  bool TakesTurns() const {
    return options_.interval_ms > 0 && options_.max_peers_per_interval > 0 &&
           peers_.size() > options_.max_peers_per_interval;
  }
  // Removes one of `peers` by chance, and returns it.
  size_t TakeAny(std::vector<size_t>* peers);
  void HadItsTurn(size_t peer);

  const ScheduleOptions options_;
  SplitMix random_;
  std::map<size_t, Peer> peers_;
  size_t next_ = 0;  // number
  // Who has not had its turn in this round.
  std::vector<size_t> turns_;
  std::vector<size_t> newcomers_;  // these first
  uint64_t next_turn_ms_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SCHEDULE_H_

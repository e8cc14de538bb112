// What one session, and one stream, reports to the board of statistics while it
// runs. The board looks up anew each time whose figures these are, since
// another replica may be at the peer's address meanwhile.

#ifndef ROCKSYNC_REPLICATION_STATISTICS_STATS_COUNTERS_H_
#define ROCKSYNC_REPLICATION_STATISTICS_STATS_COUNTERS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "replication/session/session.h"
#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

class StatsBoard;

// Returns this machine's wall clock, in milliseconds since the Unix epoch.
uint64_t WallClockMs();

// Returns the bytes of a session that count so far. Offers count once the
// answer tells what they are, so that each kind, and what is of none, only
// grows.
uint64_t CountedBytes(const SessionReport& report);

// The counters of one session. Used by one thread; Finish or GiveUp is called
// once at most.
class SessionCounters {
 public:
  ~SessionCounters();
  SessionCounters(const SessionCounters&) = delete;
  SessionCounters& operator=(const SessionCounters&) = delete;

  // Called after each turn.
  void Update(const SessionReport& report);
  // Called at the end; `status` tells how the session went.
  void Finish(const SessionReport& report, const rocksdb::Status& status);
  // Called at the end of what is no session, since one of the two is busy, or
  // they have to agree anew first. The messages count, as they do at the peer.
  void GiveUp(const SessionReport& report);

 private:
  friend class StatsBoard;
  using Clock = std::chrono::steady_clock;
  SessionCounters(StatsBoard* board, std::string peer, uint64_t replica_id,
                  Clock::time_point began);
  void Tell(const SessionProgress& progress);
  // REQUIRES: the board's lock is held, for both.
  SessionProgress SoFar() const;
  void NoteAnswered();

  StatsBoard* const board_;
  const std::string peer_;
  const uint64_t replica_id_;
  const Clock::time_point began_;
  const uint64_t began_ms_;  // wall clock
  SessionReport counted_;    // what the totals contain of this session
  Clock::time_point told_{};
};

// How far the peer of a stream is behind: it has not taken `changes` yet, the
// oldest of which was made at `since`.
struct StreamLag {
  uint64_t changes = 0;
  std::chrono::steady_clock::time_point since{};
};

// The counters of one stream. Thread-safe.
class StreamCounters {
 public:
  using Clock = std::chrono::steady_clock;

  ~StreamCounters();
  StreamCounters(const StreamCounters&) = delete;
  StreamCounters& operator=(const StreamCounters&) = delete;

  void AddSent(uint64_t pairs, uint64_t bytes);
  void AddReceived(uint64_t bytes);
  void AddReceivedPairs(uint64_t pairs, uint64_t applied, uint64_t duplicates,
                        uint64_t held_back);
  void AddGap(uint64_t pairs);

 private:
  friend class StatsBoard;
  StreamCounters(StatsBoard* board, std::string peer, uint64_t replica_id,
                 std::function<StreamLag()> lag)
      : board_(board),
        peer_(std::move(peer)),
        replica_id_(replica_id),
        lag_(std::move(lag)) {}

  // Applies `change` to the figures of the peer and to the sums. CountLocked
  // REQUIRES: the board's lock is held.
  template <typename Change>
  void Count(const Change& change);
  template <typename Change>
  void CountLocked(const Change& change);

  StatsBoard* const board_;
  const std::string peer_;
  const uint64_t replica_id_;
  const std::function<StreamLag()> lag_;  // may be empty
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STATISTICS_STATS_COUNTERS_H_

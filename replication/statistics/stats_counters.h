// What one session, and one stream, tells the board of statistics while it
// runs. Whose figures these are the board finds out anew each time, since
// another replica may be at the peer's address meanwhile.

#ifndef ROCKSYNC_REPLICATION_STATISTICS_STATS_COUNTERS_H_
#define ROCKSYNC_REPLICATION_STATISTICS_STATS_COUNTERS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "replication/session/session.h"
#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

class StatsBoard;

// This machine's, milliseconds since the Unix epoch.
uint64_t WallClockMs();

// What is offered counts once the answer tells what it is, so that each kind,
// and what is of none, only grows.
uint64_t CountedBytes(const SessionReport& report);

// One session's line on the board. Used by one thread; ended once at most.
class SessionCounters {
 public:
  ~SessionCounters();
  SessionCounters(const SessionCounters&) = delete;
  SessionCounters& operator=(const SessionCounters&) = delete;

  // After each turn.
  void Update(const SessionReport& report);
  // At the end, `status` being how it went.
  void Finish(const SessionReport& report, const rocksdb::Status& status);
  // At the end of what is no session, since one of the two is busy, or they
  // have to agree anew first: the messages count, as they do at the peer.
  void GiveUp(const SessionReport& report);

 private:
  friend class StatsBoard;
  using Clock = std::chrono::steady_clock;
  SessionCounters(StatsBoard* board, std::string peer, uint64_t replica_id,
                  Clock::time_point began);
  void Tell(const SessionProgress& progress);
  // With the board's lock held.
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

// How far the peer of a stream is behind: so many changes, the oldest made at
// `since`, are not taken by it yet.
struct StreamLag {
  uint64_t changes = 0;
  std::chrono::steady_clock::time_point since{};
};

// One stream's line on the board. Thread-safe.
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

  // `change` is applied to the figures of the peer and to the sums. The second:
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

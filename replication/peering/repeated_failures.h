// Decides which failures are logged: one that recurs with each session would
// fill the disk.

#ifndef ROCKSYNC_REPLICATION_PEERING_REPEATED_FAILURES_H_
#define ROCKSYNC_REPLICATION_PEERING_REPEATED_FAILURES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace rocksync {

// Remembers the latest failure of each of up to kMaxPeers peers. To make room
// for another peer, it forgets the failure that was logged the longest ago.
// Thread-safe.
class RepeatedFailures {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::minutes kBetween{1};
  static constexpr size_t kMaxPeers = 256;

  // Notes that a session with this peer failed, and `why`. Returns true if the
  // failure is to be logged: it differs from that of the session before, or was
  // not logged for a minute. `*unlogged` is how often it came since it was last
  // logged. Failures that differ in digits alone (more pairs, another port)
  // count as the same.
  bool Note(uint64_t replica_id, const std::string& why, Clock::time_point now,
            uint64_t* unlogged);

  // Notes that a session with this peer succeeded: its next failure is a new
  // one.
  void NoteSuccess(uint64_t replica_id);

 private:
  struct Failure {
    std::string why;  // without digits
    Clock::time_point logged;
    uint64_t unlogged = 0;
  };

  std::mutex mutex_;
  std::map<uint64_t, Failure> latest_;  // by replica id
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_REPEATED_FAILURES_H_

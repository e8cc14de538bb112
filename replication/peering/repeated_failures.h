// Which failures are worth a line in the log: one that comes again with each
// session would fill the disk.

#ifndef ROCKSYNC_REPLICATION_PEERING_REPEATED_FAILURES_H_
#define ROCKSYNC_REPLICATION_PEERING_REPEATED_FAILURES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace rocksync {

// Thread-safe. Remembers the latest failure of each of a bounded number of
// peers; of the others it forgets the one that was logged the longest ago.
class RepeatedFailures {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::minutes kBetween{1};
  static constexpr size_t kMaxPeers = 256;

  // A session with this peer failed, and `why`. True: it is to be logged, as it
  // is not the failure of the session before, or was not logged for a minute.
  // `*unlogged` is how often it came since it was logged last. Failures that
  // differ in numbers alone are the same one: more pairs, another port.
  bool Note(uint64_t replica_id, const std::string& why, Clock::time_point now,
            uint64_t* unlogged);

  // A session with this peer went well: its next failure is a new one.
  void NoteSuccess(uint64_t replica_id);

 private:
  struct Failure {
    std::string why;  // without numbers
    Clock::time_point logged;
    uint64_t unlogged = 0;
  };

  std::mutex mutex_;
  std::map<uint64_t, Failure> latest_;  // by replica id
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_REPEATED_FAILURES_H_

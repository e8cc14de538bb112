// Says how long to wait before a stream is dialed again.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_REDIAL_PAUSE_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_REDIAL_PAUSE_H_

#include <algorithm>
#include <chrono>

namespace rocksync {

// Holds the next pause of one peer. Used by one thread.
class RedialPause {
 public:
  static constexpr std::chrono::milliseconds kFirst{50};
  static constexpr std::chrono::milliseconds kLongest{5'000};

  // Returns the pause after an attempt. If `streamed`, it is the first pause
  // again, else twice the one before, up to kLongest. `streamed`: since the
  // attempt before, a stream, dialed by either side, lasted or carried changes.
  std::chrono::milliseconds After(bool streamed) {
    if (streamed) next_ = kFirst;
    const std::chrono::milliseconds pause = next_;
    next_ = std::min(next_ * 2, kLongest);
    return pause;
  }

 private:
  std::chrono::milliseconds next_ = kFirst;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_REDIAL_PAUSE_H_

// How long to wait before a stream is dialed again.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_REDIAL_PAUSE_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_REDIAL_PAUSE_H_

#include <algorithm>
#include <chrono>

namespace rocksync {

// Used by one thread.
class RedialPause {
 public:
  static constexpr std::chrono::milliseconds kFirst{50};
  static constexpr std::chrono::milliseconds kLongest{5'000};

  // After an attempt; `streamed`: since the one before there was a stream that
  // lasted or carried something, of whichever side. The first pause then, else
  // twice the one before.
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

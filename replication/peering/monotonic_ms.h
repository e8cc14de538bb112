// The monotonic clock in milliseconds. Sessions, streams and schedules, which
// read no clock themselves, get the time in this form.

#ifndef ROCKSYNC_REPLICATION_PEERING_MONOTONIC_MS_H_
#define ROCKSYNC_REPLICATION_PEERING_MONOTONIC_MS_H_

#include <chrono>
#include <cstdint>

namespace rocksync {

using MonotonicClock = std::chrono::steady_clock;

inline uint64_t ToMonotonicMs(MonotonicClock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch())
          .count());
}

inline MonotonicClock::time_point FromMonotonicMs(uint64_t ms) {
  return MonotonicClock::time_point(
      std::chrono::milliseconds(static_cast<int64_t>(ms)));
}

inline uint64_t MonotonicMs() { return ToMonotonicMs(MonotonicClock::now()); }

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_MONOTONIC_MS_H_

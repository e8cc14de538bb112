// Detects jumps of the wall clock, by comparing it with the monotonic clock.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_CLOCK_WATCH_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_CLOCK_WATCH_H_

#include <cstdint>
#include <cstdlib>
#include <optional>

namespace rocksync {

// Watches the offset between the two clocks. Not thread-safe.
class ClockWatch {
 public:
  // The smallest jump that is reported. Slewing, and a thread that was not
  // scheduled, stay below it.
  static constexpr int64_t kJumpMs = 5'000;

  // Takes both clocks, read together. Returns by how much the wall clock has
  // jumped since the last call, in milliseconds, ahead (above 0) or back;
  // nullopt: it has not.
  std::optional<int64_t> Observe(uint64_t wall_ms, uint64_t monotonic_ms) {
    const auto offset = static_cast<int64_t>(wall_ms - monotonic_ms);
    const int64_t jump = known_ ? offset - offset_ : 0;
    known_ = true;
    offset_ = offset;
    if (std::abs(jump) < kJumpMs) return std::nullopt;
    return jump;
  }

 private:
  bool known_ = false;
  int64_t offset_ = 0;  // wall clock minus monotonic clock
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_CLOCK_WATCH_H_

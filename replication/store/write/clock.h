// The hybrid logical clock that versions are read from.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_CLOCK_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_CLOCK_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace rocksync {

// A clock whose readings are Version::time: milliseconds in bits 63..16, and
// below them a counter that carries into them. Each reading is later than all
// earlier ones and all observed ones. The wall clock is an argument.
// Thread-safe, lock-free.
class HybridClock {
 public:
  explicit HybridClock(uint64_t last) : last_(last) {}

  uint64_t Next(uint64_t wall_ms) {
    uint64_t last = last_.load(std::memory_order_relaxed);
    uint64_t next = 0;
    do {
      next = std::max(wall_ms << 16, last + 1);
    } while (
        !last_.compare_exchange_weak(last, next, std::memory_order_acq_rel));
    return next;
  }

  // Makes all later readings later than `time`.
  void Observe(uint64_t time) {
    uint64_t last = last_.load(std::memory_order_relaxed);
    while (last < time && !last_.compare_exchange_weak(
                              last, time, std::memory_order_acq_rel)) {
    }
  }

  // Returns the latest reading that was issued or observed.
  uint64_t Last() const { return last_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> last_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_CLOCK_H_

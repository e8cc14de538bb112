// The pace of a benchmark's writer.

#ifndef ROCKSYNC_TESTS_BENCH_PACE_H_
#define ROCKSYNC_TESTS_BENCH_PACE_H_

#include <chrono>
#include <cstdint>

namespace rocksync {

// When write `number` is due after write 0, at so many a second.
constexpr std::chrono::nanoseconds DueAfterFirst(uint64_t number,
                                                 uint64_t per_second) {
  constexpr uint64_t kSecond = 1'000'000'000;
  return std::chrono::seconds(number / per_second) +
         std::chrono::nanoseconds(number % per_second * kSecond / per_second);
}
// In whole seconds all writes of a second would come at its beginning.
static_assert(DueAfterFirst(1'500, 1'000) == std::chrono::milliseconds(1'500));

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_BENCH_PACE_H_

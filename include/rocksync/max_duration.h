// The limit of all durations of the options. It is not in limits.h, so that
// sources without a clock need not include <chrono>.

#ifndef ROCKSYNC_MAX_DURATION_H_
#define ROCKSYNC_MAX_DURATION_H_

#include <chrono>

namespace rocksync {

// Of every interval and timeout in the options of replicators and transports.
// A longer one is refused when they start, since clocks would overflow.
inline constexpr std::chrono::milliseconds kMaxDuration =
    std::chrono::hours(365 * 24);

}  // namespace rocksync

#endif  // ROCKSYNC_MAX_DURATION_H_

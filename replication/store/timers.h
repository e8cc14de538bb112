// Who does a store's work that is due by the clock.

#ifndef ROCKSYNC_REPLICATION_STORE_TIMERS_H_
#define ROCKSYNC_REPLICATION_STORE_TIMERS_H_

#include <cstdint>

namespace rocksync {

// kThreads: threads renew the lease ahead of need, and sweep collected
// tombstones. kCaller: the caller that needs the lease renews it, and sweeps by
// Store::SweepHere, as where time is virtual.
enum class Timers : uint8_t { kThreads, kCaller };

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_TIMERS_H_

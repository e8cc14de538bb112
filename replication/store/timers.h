// Whether a store does work by the wall clock.

#ifndef ROCKSYNC_REPLICATION_STORE_TIMERS_H_
#define ROCKSYNC_REPLICATION_STORE_TIMERS_H_

#include <cstdint>

namespace rocksync {

// kOn: threads renew the lease ahead of need, and sweep collected tombstones.
// kOffForTesting: only for tests in virtual time. Then the caller that needs
// the lease renews it, and Store::SweepForTesting sweeps.
enum class Timers : uint8_t { kOn, kOffForTesting };

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_TIMERS_H_

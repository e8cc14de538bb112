// What a store does by the clock on the wall.

#ifndef ROCKSYNC_REPLICATION_STORE_TIMERS_H_
#define ROCKSYNC_REPLICATION_STORE_TIMERS_H_

#include <cstdint>

namespace rocksync {

// On: threads renew the lease ahead of need, and sweep collected tombstones.
// Off for tests in virtual time alone: then whoever needs the lease renews it,
// and Store::SweepForTesting sweeps.
enum class Timers : uint8_t { kOn, kOffForTesting };

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_TIMERS_H_

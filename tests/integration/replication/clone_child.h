// What clone_test and the process that it kills agree on.

#ifndef ROCKSYNC_TESTS_INTEGRATION_REPLICATION_CLONE_CHILD_H_
#define ROCKSYNC_TESTS_INTEGRATION_REPLICATION_CLONE_CHILD_H_

#include <cstdint>

namespace rocksync {

// The replica that a clone becomes.
inline constexpr uint64_t kClonedId = 0xc10e;
// So slow that there is time to kill either side.
inline constexpr uint64_t kServedBytesPerSecond = 8'000'000;

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_REPLICATION_CLONE_CHILD_H_

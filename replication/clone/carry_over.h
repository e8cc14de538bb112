// Carries over to one storage what another one in the same process alone holds:
// a session without a network, one way.

#ifndef ROCKSYNC_REPLICATION_CLONE_CARRY_OVER_H_
#define ROCKSYNC_REPLICATION_CLONE_CARRY_OVER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// Applies to `to` every pair and tombstone of `from` that is newer than what
// `to` holds for its key. Compares leaf digests, and reads only the leaves that
// differ. `*carried` counts the pairs and tombstones that won.
// REQUIRES: both have the same families and the same stable time, and nobody
// else writes.
//
// OK: `to` holds all that `from` holds, or something newer. FailedPrecondition:
// `from` has quarantined pairs, whose versions are not known. DataLoss: a pair
// that only `from` has does not read. Unavailable: a pair was not taken, for
// example since its version is too far in the future. Cancelled: `cancelled`
// returned true.
absl::Status CarryOver(StorageView* from, StorageView* to,
                       const std::function<bool()>& cancelled,
                       uint64_t* carried);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CARRY_OVER_H_

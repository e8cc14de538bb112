// What one storage alone holds, carried over to another in the same process: a
// session without a network, one way.

#ifndef ROCKSYNC_REPLICATION_CLONE_CARRY_OVER_H_
#define ROCKSYNC_REPLICATION_CLONE_CARRY_OVER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// Applies to `to` every pair and tombstone of `from` that is newer than what
// `to` holds of its key. Both have the same families and the same stable time,
// and nobody else writes. `*carried` counts what won. Compares leaf digests,
// and reads what is in the leaves that differ.
//
// OK: `to` holds all that `from` holds, or something newer. FailedPrecondition:
// `from` has quarantined pairs, of which nothing is known. DataLoss: a pair
// that only `from` has does not read. Unavailable: a pair was not taken, as its
// version is too far in the future, say. Cancelled.
absl::Status CarryOver(StorageView* from, StorageView* to,
                       const std::function<bool()>& cancelled,
                       uint64_t* carried);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CARRY_OVER_H_

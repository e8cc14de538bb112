// Remedies that several refusals of an opening name.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_REMEDIES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_REMEDIES_H_

namespace rocksync {

inline constexpr char kOpenAsNewReplica[] =
    "open it once with the option open_copy_as_new_replica (rocksync-store: "
    "--as-new-replica): it becomes a new replica with an id of its own";

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_REMEDIES_H_

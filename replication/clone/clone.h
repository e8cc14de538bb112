// A clone from beginning to end, in the steps that tools take one by one.

#ifndef ROCKSYNC_REPLICATION_CLONE_CLONE_H_
#define ROCKSYNC_REPLICATION_CLONE_CLONE_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/clone.h"
#include "rocksync/options.h"

namespace rocksync {

// InvalidArgument: names what is wrong with them.
rocksdb::Status CheckCloneOptions(const CloneOptions& clone);

// Copies the source's files into the directory `name`, which can then be opened
// and becomes the replica `result->replica_id` when it is. Nothing is opened.
// OK at once if an earlier call got so far.
rocksdb::Status CopyReplica(rocksdb::Env* env,
                            const ReplicatedDBOptions& replication,
                            const std::string& name, const CloneOptions& clone,
                            CloneResult* result);

// Opens a copy as the new replica, proves it equal to the source, and closes
// it.
rocksdb::Status BecomeReplica(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    const CloneOptions& clone, CloneResult* result);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_H_

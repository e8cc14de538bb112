// Checks what Replicator::Start refuses before anything begins.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_START_CHECKS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_START_CHECKS_H_

#include "rocksdb/status.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/transport.h"

namespace rocksync {

// Returns InvalidArgument if an option is out of bounds (the message names it
// and its range), if the transport refuses an address, or if the transport's
// certificate is of another replica than the database.
rocksdb::Status CheckBeforeStart(const ReplicatorOptions& options,
                                 const ReplicatedDB& db,
                                 const Transport& transport);

// Returns InvalidArgument if the transport refuses one of `peers`. The message
// begins with `whose`, the name of the option or call that has the list.
rocksdb::Status CheckPeers(const char* whose,
                           const std::vector<std::string>& peers,
                           const Transport& transport);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_START_CHECKS_H_

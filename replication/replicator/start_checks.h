// What Replicator::Start refuses before anything begins.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_START_CHECKS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_START_CHECKS_H_

#include "rocksdb/status.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/transport.h"

namespace rocksync {

// InvalidArgument, with the option and what it may be: options out of bounds,
// addresses that the transport does not know, or a transport whose certificate
// is of another replica than the database.
rocksdb::Status CheckBeforeStart(const ReplicatorOptions& options,
                                 const ReplicatedDB& db,
                                 const Transport& transport);

// InvalidArgument: one of the addresses of `whose` list the transport refuses.
rocksdb::Status CheckPeers(const char* whose,
                           const std::vector<std::string>& peers,
                           const Transport& transport);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_START_CHECKS_H_

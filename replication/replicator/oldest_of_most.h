// Whom to close where connections that have not proven the cluster's secret are
// too many.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_OLDEST_OF_MOST_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_OLDEST_OF_MOST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocksync {

// Of the certificate that has most of them, the oldest one, so that whoever
// opens many closes its own. `replica_ids`: by the certificates, oldest first;
// not empty. Returns a place in it.
size_t OldestOfMost(const std::vector<uint64_t>& replica_ids);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_OLDEST_OF_MOST_H_

// Chooses the connection to close if too many have not proven the cluster's
// secret.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_CONNECTION_EVICTION_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_CONNECTION_EVICTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocksync {

// Returns the index of the oldest connection of the certificate that has the
// most, so that a dialer that opens many loses its own. `replica_ids` are those
// of the connections' certificates, oldest connection first.
// REQUIRES: `replica_ids` is not empty.
size_t OldestOfMost(const std::vector<uint64_t>& replica_ids);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_CONNECTION_EVICTION_H_

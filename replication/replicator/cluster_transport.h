// What a database's replicator sees of a shared listener: a transport.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_TRANSPORT_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_TRANSPORT_H_

#include <memory>
#include <string>

#include "replication/replicator/cluster_switch.h"
#include "rocksync/transport.h"

namespace rocksync {

// Listen takes those who name `cluster`, wherever its address says;
// InvalidArgument: somebody takes them already.
std::shared_ptr<Transport> NewClusterTransport(
    std::shared_ptr<ClusterSwitch> clusters, const std::string& cluster);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_TRANSPORT_H_

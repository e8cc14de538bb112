// The transport with which a replicator that shares a listener dials: the
// listener's transport, with the database's own log. It does not listen.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_TRANSPORT_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_TRANSPORT_H_

#include <memory>

#include "replication/replicator/cluster_switch.h"
#include "rocksync/transport.h"

namespace rocksync {

std::shared_ptr<Transport> NewClusterTransport(
    std::shared_ptr<ClusterSwitch> clusters);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_TRANSPORT_H_

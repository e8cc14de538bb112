// The part of a shared listener that a replicator takes.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_

#include <memory>

#include "replication/replicator/cluster_switch.h"
#include "rocksync/shared_listener.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SharedListenerAccess {
  // Dials as the listener's transport does. Does not listen.
  static std::shared_ptr<Transport> TransportOf(const SharedListener& listener);
  // Listens, for those who name the cluster of a database.
  static std::shared_ptr<ClusterSwitch> SwitchOf(
      const SharedListener& listener);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_

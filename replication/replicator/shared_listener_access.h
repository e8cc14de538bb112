// Gives a replicator the parts of a shared listener that it uses.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_

#include <memory>

#include "replication/replicator/cluster_switch.h"
#include "rocksync/shared_listener.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SharedListenerAccess {
  // Returns a transport that dials as the listener's does. It does not listen.
  static std::shared_ptr<Transport> TransportOf(const SharedListener& listener);
  // Returns the switch, which listens for dialers that name the cluster of a
  // database.
  static std::shared_ptr<ClusterSwitch> SwitchOf(
      const SharedListener& listener);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_

// The part of a shared listener that a replicator takes.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_

#include <memory>
#include <string>

#include "rocksync/shared_listener.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SharedListenerAccess {
  // Dials as the listener's transport does, and listens, at the listener's
  // address, for those who name this cluster.
  static std::shared_ptr<Transport> TransportOf(const SharedListener& listener,
                                                const std::string& cluster);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LISTENER_ACCESS_H_

// A connection that was accepted and is to be authenticated, on its way from
// the listener to the thread that serves it.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_INCOMING_CONNECTION_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_INCOMING_CONNECTION_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "replication/replicator/unauthenticated_connections.h"
#include "rocksync/transport.h"

namespace rocksync {

struct IncomingConnection {
  explicit IncomingConnection(std::unique_ptr<Connection> accepted)
      : connection(std::move(accepted)) {}

  std::unique_ptr<Connection> connection;
  // When the time limit of the whole authentication begins.
  std::chrono::steady_clock::time_point began =
      std::chrono::steady_clock::now();
  // The dialer's first message, if a shared port has received it.
  std::string auth_hello;
  // Its place among those of the shared port; null: it came over a port that is
  // not shared. Destroyed before the connection.
  std::unique_ptr<UnauthenticatedPlace> place;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_INCOMING_CONNECTION_H_

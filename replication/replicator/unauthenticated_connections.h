// Bounds the accepted connections that have not proven their cluster's secret
// yet, and chooses which one to close if one more comes. Nothing is read from
// them here, and others judge their proofs.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_UNAUTHENTICATED_CONNECTIONS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_UNAUTHENTICATED_CONNECTIONS_H_

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "rocksync/transport.h"

namespace rocksync {

// The list of these connections, of one replicator or of all databases of a
// shared port. Thread-safe.
class UnauthenticatedConnections {
 public:
  explicit UnauthenticatedConnections(size_t most) : most_(most) {}

  size_t most() const { return most_; }
  void CloseAll();

 private:
  friend class UnauthenticatedPlace;

  // Adds a connection. If the list is full, first closes the one that
  // OldestOfMost chooses.
  void Add(Connection* connection);
  bool Remove(Connection* connection);
  void CloseOldestOfMost();

  const size_t most_;
  std::mutex mutex_;
  std::list<Connection*> connections_;  // oldest first
};

// The place of a connection in the list, held until Leave or destruction.
class UnauthenticatedPlace {
 public:
  // `connection` must outlive this.
  UnauthenticatedPlace(std::shared_ptr<UnauthenticatedConnections> list,
                       Connection* connection)
      : list_(std::move(list)), connection_(connection) {
    list_->Add(connection_);
  }
  ~UnauthenticatedPlace() { Leave(); }
  UnauthenticatedPlace(const UnauthenticatedPlace&) = delete;
  UnauthenticatedPlace& operator=(const UnauthenticatedPlace&) = delete;

  // Returns how many connections the list may hold.
  size_t most() const { return list_->most(); }

  // Gives up the place, once the peer has proven the secret or is refused.
  // Returns false if the connection was closed before, to make room.
  bool Leave();

 private:
  const std::shared_ptr<UnauthenticatedConnections> list_;
  Connection* connection_;  // null after Leave
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_UNAUTHENTICATED_CONNECTIONS_H_

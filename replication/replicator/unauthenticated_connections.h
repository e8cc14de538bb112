// Connections that were accepted and have not proven their cluster's secret
// yet: how many there may be, and which one goes if one more comes. Nothing is
// read from them here, and whether a proof is one is for others to judge.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_UNAUTHENTICATED_CONNECTIONS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_UNAUTHENTICATED_CONNECTIONS_H_

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "rocksync/transport.h"

namespace rocksync {

// Of one replicator, or of all databases of a shared port. Thread-safe.
class UnauthenticatedConnections {
 public:
  explicit UnauthenticatedConnections(size_t most) : most_(most) {}

  size_t most() const { return most_; }
  void CloseAll();

 private:
  friend class UnauthenticatedPlace;

  // Makes room first, by OldestOfMost.
  void Add(Connection* connection);
  bool Remove(Connection* connection);
  void CloseOldestOfMost();

  const size_t most_;
  std::mutex mutex_;
  std::list<Connection*> connections_;  // oldest first
};

// One of these connections, as long as this is there or until Leave.
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

  // How many of them there may be.
  size_t most() const { return list_->most(); }

  // To be called once the peer has proven the secret, or is refused. False: the
  // connection was closed before, to make room.
  bool Leave();

 private:
  const std::shared_ptr<UnauthenticatedConnections> list_;
  Connection* connection_;  // null: has left
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_UNAUTHENTICATED_CONNECTIONS_H_

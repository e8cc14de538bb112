// A list of all connections of a replicator, or of a tool, so that a stop can
// close them while other threads wait on them.

#ifndef ROCKSYNC_REPLICATION_PEERING_OPEN_CONNECTIONS_H_
#define ROCKSYNC_REPLICATION_PEERING_OPEN_CONNECTIONS_H_

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "rocksync/transport.h"

namespace rocksync {

class OpenConnections;

// Owns a connection and keeps it on the list while it lives.
class ListedConnection {
 public:
  ListedConnection(OpenConnections* list,
                   std::unique_ptr<Connection> connection);
  ~ListedConnection();
  ListedConnection(ListedConnection&&) = default;

  Connection* get() const { return connection_.get(); }
  Connection* operator->() const { return connection_.get(); }

 private:
  OpenConnections* const list_;
  std::unique_ptr<Connection> connection_;  // null once moved from
};

// The list. Thread-safe. Must outlive every ListedConnection.
class OpenConnections {
 public:
  // Closes all listed connections, and each one that is listed from now on.
  void CloseAll() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Connection* connection : listed_) connection->Close();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  friend class ListedConnection;

  mutable std::mutex mutex_;
  std::set<Connection*> listed_;
  bool closed_ = false;
};

inline ListedConnection::ListedConnection(
    OpenConnections* list, std::unique_ptr<Connection> connection)
    : list_(list), connection_(std::move(connection)) {
  const std::lock_guard lock(list_->mutex_);
  list_->listed_.insert(connection_.get());
  if (list_->closed_) connection_->Close();
}

inline ListedConnection::~ListedConnection() {
  if (connection_ == nullptr) return;
  const std::lock_guard lock(list_->mutex_);
  list_->listed_.erase(connection_.get());
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_OPEN_CONNECTIONS_H_

// Connections that a shared listener has accepted, until they have proven the
// secret of the cluster that they name, whoever looks after them meanwhile.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_INCOMING_CONNECTION_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_INCOMING_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// Those that are not authenticated. Thread-safe.
class UnauthenticatedConnections {
 public:
  explicit UnauthenticatedConnections(size_t most) : most_(most) {}

  // Makes room first, by OldestOfMost.
  void Add(Connection* connection);
  // No effect if it is not there.
  void Remove(Connection* connection);
  void CloseAll();

 private:
  void CloseOldestOfMost();

  const size_t most_;
  std::mutex mutex_;
  std::list<Connection*> connections_;  // oldest first
};

// One of these, until its frame limit is raised, which says that the peer has
// proven the secret.
class IncomingConnection : public Connection {
 public:
  IncomingConnection(std::unique_ptr<Connection> connection,
                     std::shared_ptr<UnauthenticatedConnections> list);
  ~IncomingConnection() override;

  // The next Receive gives this frame once more. Not empty.
  void PutBack(std::string frame) { put_back_ = std::move(frame); }

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       std::chrono::milliseconds timeout) override {
    return connection_->Send(frame, timeout);
  }
  rocksdb::Status Receive(std::string* frame,
                          std::chrono::milliseconds timeout) override;
  void SetFrameLimit(size_t bytes) override;
  void SetFrameTimeout(std::chrono::milliseconds time) override {
    connection_->SetFrameTimeout(time);
  }
  uint64_t peer_replica_id() const override {
    return connection_->peer_replica_id();
  }
  std::string peer_name() const override { return connection_->peer_name(); }
  uint64_t bytes_sent() const override { return connection_->bytes_sent(); }
  uint64_t bytes_received() const override {
    return connection_->bytes_received();
  }
  void Close() override { connection_->Close(); }
  bool WhenReceivable(std::function<void()> come) override;

 private:
  const std::unique_ptr<Connection> connection_;
  const std::shared_ptr<UnauthenticatedConnections> list_;
  std::string put_back_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_INCOMING_CONNECTION_H_

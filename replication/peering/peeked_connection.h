// A connection that was let in and whose next frame has been looked at: who
// comes, a replica or an operator's tool?

#ifndef ROCKSYNC_REPLICATION_PEERING_PEEKED_CONNECTION_H_
#define ROCKSYNC_REPLICATION_PEERING_PEEKED_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "replication/peering/open_connections.h"
#include "rocksync/transport.h"

namespace rocksync {

class PeekedConnection final : public Connection {
 public:
  PeekedConnection(OpenConnections* list,
                   std::unique_ptr<Connection> connection)
      : connection_(list, std::move(connection)) {}

  // Waits for the next frame, which the next Receive then returns.
  rocksdb::Status Peek(std::chrono::milliseconds timeout) {
    const rocksdb::Status s = connection_->Receive(&first_, timeout);
    peeked_ = s.ok();
    return s;
  }
  const std::string& first() const { return first_; }

  rocksdb::Status Send(const rocksdb::Slice& frame,
                       std::chrono::milliseconds timeout) override {
    return connection_->Send(frame, timeout);
  }
  rocksdb::Status Receive(std::string* frame,
                          std::chrono::milliseconds timeout) override {
    if (!std::exchange(peeked_, false)) {
      return connection_->Receive(frame, timeout);
    }
    *frame = std::move(first_);
    return rocksdb::Status::OK();
  }
  void SetFrameLimit(size_t bytes) override {
    connection_->SetFrameLimit(bytes);
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

 private:
  ListedConnection connection_;
  std::string first_;
  bool peeked_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_PEEKED_CONNECTION_H_

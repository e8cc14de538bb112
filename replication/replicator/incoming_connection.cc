#include "replication/replicator/incoming_connection.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "replication/replicator/oldest_of_most.h"

namespace rocksync {

void UnauthenticatedConnections::Add(Connection* connection) {
  const std::lock_guard lock(mutex_);
  while (connections_.size() >= most_) CloseOldestOfMost();
  connections_.push_back(connection);
}

void UnauthenticatedConnections::Remove(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connections_.remove(connection);
}

void UnauthenticatedConnections::CloseAll() {
  const std::lock_guard lock(mutex_);
  for (Connection* connection : connections_) connection->Close();
}

void UnauthenticatedConnections::CloseOldestOfMost() {
  std::vector<uint64_t> ids;
  for (const Connection* c : connections_) ids.push_back(c->peer_replica_id());
  const auto leaving = std::next(connections_.begin(),
                                 static_cast<ptrdiff_t>(OldestOfMost(ids)));
  (*leaving)->Close();
  connections_.erase(leaving);
}

IncomingConnection::IncomingConnection(
    std::unique_ptr<Connection> connection,
    std::shared_ptr<UnauthenticatedConnections> list)
    : connection_(std::move(connection)), list_(std::move(list)) {
  list_->Add(connection_.get());
}

IncomingConnection::~IncomingConnection() { list_->Remove(connection_.get()); }

rocksdb::Status IncomingConnection::Receive(std::string* frame,
                                            std::chrono::milliseconds timeout) {
  if (put_back_.empty()) return connection_->Receive(frame, timeout);
  *frame = std::exchange(put_back_, {});
  return rocksdb::Status::OK();
}

bool IncomingConnection::WhenReceivable(std::function<void()> come) {
  if (put_back_.empty()) return connection_->WhenReceivable(std::move(come));
  come();
  return true;
}

void IncomingConnection::SetFrameLimit(size_t bytes) {
  list_->Remove(connection_.get());
  connection_->SetFrameLimit(bytes);
}

}  // namespace rocksync

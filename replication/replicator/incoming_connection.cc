#include "replication/replicator/incoming_connection.h"

#include <algorithm>
#include <map>
#include <utility>

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
  std::map<uint64_t, size_t> count;
  for (const Connection* c : connections_) ++count[c->peer_replica_id()];
  const uint64_t most = std::max_element(count.begin(), count.end(),
                                         [](const auto& a, const auto& b) {
                                           return a.second < b.second;
                                         })
                            ->first;
  const auto oldest = std::find_if(
      connections_.begin(), connections_.end(),
      [most](const Connection* c) { return c->peer_replica_id() == most; });
  (*oldest)->Close();
  connections_.erase(oldest);
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

void IncomingConnection::SetFrameLimit(size_t bytes) {
  list_->Remove(connection_.get());
  connection_->SetFrameLimit(bytes);
}

}  // namespace rocksync

#include "replication/replicator/unauthenticated_connections.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "replication/replicator/connection_eviction.h"

namespace rocksync {

void UnauthenticatedConnections::Add(Connection* connection) {
  const std::lock_guard lock(mutex_);
  while (connections_.size() >= most_) CloseOldestOfMost();
  connections_.push_back(connection);
}

bool UnauthenticatedConnections::Remove(Connection* connection) {
  const std::lock_guard lock(mutex_);
  return connections_.remove(connection) > 0;
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

bool UnauthenticatedPlace::Leave() {
  Connection* const connection = std::exchange(connection_, nullptr);
  return connection != nullptr && list_->Remove(connection);
}

}  // namespace rocksync

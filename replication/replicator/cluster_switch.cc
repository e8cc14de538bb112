#include "replication/replicator/cluster_switch.h"

#include <system_error>
#include <utility>

#include "replication/peering/admission.h"
#include "replication/replicator/connection_threads.h"

namespace rocksync {
namespace {

// The most threads that are about to end. With more, the machine cannot keep
// up.
constexpr size_t kMaxEnding = 128;

}  // namespace

ClusterSwitch::ClusterSwitch(std::shared_ptr<Transport> transport,
                             size_t max_unauthenticated)
    : transport_(std::move(transport)),
      max_unauthenticated_(max_unauthenticated),
      max_servers_(max_unauthenticated + kMaxEnding),
      unauthenticated_(
          std::make_shared<UnauthenticatedConnections>(max_unauthenticated)) {}

ClusterSwitch::~ClusterSwitch() {
  if (!listening_) return;
  closing_ = true;
  transport_->StopListening();
  unauthenticated_->CloseAll();
  for (Server& server : servers_) server.thread.join();
  transport_->SetLogger(nullptr);
}

rocksdb::Status ClusterSwitch::Listen(const std::string& address) {
  rocksdb::Status s = transport_->Listen(
      address, [this](std::unique_ptr<Connection> connection) {
        Receive(std::move(connection));
      });
  listening_ = s.ok();
  if (listening_) transport_->SetLogger(log_);
  return s;
}

void ClusterSwitch::SumMaxAccepted() {
  size_t most = max_unauthenticated_;
  for (const auto& [name, listener] : listeners_)
    most += listener->max_accepted;
  transport_->SetMaxAccepted(most);
}

rocksdb::Status ClusterSwitch::Add(const std::string& cluster,
                                   size_t max_accepted, Accept accept) {
  const auto listener = std::make_shared<Listener>();
  listener->max_accepted = max_accepted;
  listener->accept = std::move(accept);
  const std::lock_guard lock(mutex_);
  if (listeners_.emplace(cluster, listener).second) {
    SumMaxAccepted();
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::InvalidArgument(
      "another database of the cluster \"" + cluster + "\" listens on " +
          transport_->listen_address() + " already",
      "stop its replicator first, or give one of the two a listen_address of "
      "its own");
}

void ClusterSwitch::Remove(const std::string& cluster) {
  std::shared_ptr<Listener> listener;
  {
    const std::lock_guard lock(mutex_);
    const auto found = listeners_.find(cluster);
    if (found == listeners_.end()) return;
    listener = std::move(found->second);
    listeners_.erase(found);
    SumMaxAccepted();
  }
  const std::lock_guard lock(listener->mutex);
  listener->accept = nullptr;
}

std::vector<std::string> ClusterSwitch::Clusters() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, listener] : listeners_) names.push_back(name);
  return names;
}

void ClusterSwitch::Receive(std::unique_ptr<Connection> connection) {
  IncomingConnection incoming(std::move(connection));
  incoming.place = std::make_unique<UnauthenticatedPlace>(
      unauthenticated_, incoming.connection.get());
  const std::lock_guard lock(mutex_);
  JoinThoseOver(&servers_);
  if (servers_.size() >= max_servers_) return;
  Server& server = servers_.emplace_back();
  try {
    server.thread = std::thread(
        [this, &server](IncomingConnection one) {
          Serve(std::move(one));
          server.over = true;
        },
        std::move(incoming));
  } catch (const std::system_error&) {  // no more threads: the peer comes again
    servers_.pop_back();
  }
}

void ClusterSwitch::Serve(IncomingConnection incoming) {
  const std::string peer = incoming.connection->peer_name();
  std::string cluster;
  rocksdb::Status s =
      ReceiveClusterName(incoming.connection.get(), incoming.began,
                         &incoming.auth_hello, &cluster);
  if (s.ok()) {
    if (HandOver(cluster, &incoming)) return;
    s = RefuseCluster(incoming.connection.get(), incoming.began, cluster);
  }
  if (!closing_) refusals_.Write(log_, peer, s);
}

bool ClusterSwitch::HandOver(const std::string& cluster,
                             IncomingConnection* incoming) {
  std::shared_ptr<Listener> listener;
  {
    const std::lock_guard lock(mutex_);
    const auto found = listeners_.find(cluster);
    if (found == listeners_.end()) return false;
    listener = found->second;
  }
  const std::lock_guard lock(listener->mutex);
  if (listener->accept == nullptr) return false;
  listener->accept(std::move(*incoming));
  return true;
}

}  // namespace rocksync

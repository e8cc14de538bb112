#include "replication/replicator/cluster_switch.h"

#include <system_error>
#include <utility>

#include "replication/peering/admission.h"
#include "replication/replicator/visits.h"

namespace rocksync {
namespace {

// Threads that are about to end. More of them, and the machine cannot keep up.
constexpr size_t kMostEnding = 128;

}  // namespace

ClusterSwitch::ClusterSwitch(std::shared_ptr<Transport> transport,
                             size_t max_unauthenticated)
    : transport_(std::move(transport)),
      max_unauthenticated_(max_unauthenticated),
      most_visits_(max_unauthenticated + kMostEnding),
      unauthenticated_(
          std::make_shared<UnauthenticatedConnections>(max_unauthenticated)) {}

ClusterSwitch::~ClusterSwitch() {
  if (!listening_) return;
  closing_ = true;
  transport_->StopListening();
  unauthenticated_->CloseAll();
  for (Visit& visit : visits_) visit.thread.join();
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
  for (const auto& [name, door] : doors_) most += door->max_accepted;
  transport_->SetMaxAccepted(most);
}

rocksdb::Status ClusterSwitch::Add(const std::string& cluster,
                                   size_t max_accepted, Accept accept) {
  const auto door = std::make_shared<Door>();
  door->max_accepted = max_accepted;
  door->accept = std::move(accept);
  const std::lock_guard lock(mutex_);
  if (doors_.emplace(cluster, door).second) {
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
  std::shared_ptr<Door> door;
  {
    const std::lock_guard lock(mutex_);
    const auto found = doors_.find(cluster);
    if (found == doors_.end()) return;
    door = std::move(found->second);
    doors_.erase(found);
    SumMaxAccepted();
  }
  const std::lock_guard lock(door->mutex);
  door->accept = nullptr;
}

std::vector<std::string> ClusterSwitch::Clusters() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, door] : doors_) names.push_back(name);
  return names;
}

void ClusterSwitch::Receive(std::unique_ptr<Connection> connection) {
  auto incoming = std::make_unique<IncomingConnection>(std::move(connection),
                                                       unauthenticated_);
  const std::lock_guard lock(mutex_);
  ForgetThoseOver(&visits_);
  if (visits_.size() >= most_visits_) return;
  Visit& visit = visits_.emplace_back();
  try {
    visit.thread = std::thread(
        [this, &visit](std::unique_ptr<IncomingConnection> arrived) {
          Serve(std::move(arrived));
          visit.over = true;
        },
        std::move(incoming));
  } catch (const std::system_error&) {  // no more threads: the peer comes again
    visits_.pop_back();
  }
}

void ClusterSwitch::Serve(std::unique_ptr<IncomingConnection> connection) {
  const std::string peer = connection->peer_name();
  std::string auth_hello;
  std::string cluster;
  rocksdb::Status s =
      HearCluster(connection.get(), kProveTimeout, &auth_hello, &cluster);
  if (s.ok()) {
    connection->PutBack(std::move(auth_hello));
    if (HandOver(cluster, &connection)) return;
    s = RefuseCluster(connection.get(), kProveTimeout, cluster);
  }
  if (!closing_) refusals_.Write(log_, peer, s);
}

bool ClusterSwitch::HandOver(const std::string& cluster,
                             std::unique_ptr<IncomingConnection>* connection) {
  std::shared_ptr<Door> door;
  {
    const std::lock_guard lock(mutex_);
    const auto found = doors_.find(cluster);
    if (found == doors_.end()) return false;
    door = found->second;
  }
  const std::lock_guard lock(door->mutex);
  if (door->accept == nullptr) return false;
  door->accept(std::move(*connection));
  return true;
}

}  // namespace rocksync

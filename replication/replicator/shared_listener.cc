#include "rocksync/shared_listener.h"

#include <utility>

#include "replication/replicator/cluster_switch.h"
#include "replication/replicator/cluster_transport.h"
#include "replication/replicator/shared_listener_access.h"

namespace rocksync {

SharedListener::SharedListener(std::shared_ptr<ClusterSwitch> clusters)
    : switch_(std::move(clusters)) {}

SharedListener::~SharedListener() = default;

rocksdb::Status SharedListener::Start(
    const SharedListenerOptions& options, std::shared_ptr<Transport> transport,
    std::shared_ptr<SharedListener>* listener) {
  if (transport == nullptr) {
    return rocksdb::Status::InvalidArgument(
        "SharedListener::Start needs a transport");
  }
  if (options.max_unauthenticated == 0) {
    return rocksdb::Status::InvalidArgument(
        "SharedListenerOptions::max_unauthenticated must be above 0");
  }
  const auto clusters = std::make_shared<ClusterSwitch>(
      std::move(transport), options.max_unauthenticated);
  const rocksdb::Status s = clusters->Listen(options.address);
  if (s.ok()) listener->reset(new SharedListener(clusters));
  return s;
}

std::string SharedListener::address() const {
  return switch_->transport()->listen_address();
}

const std::shared_ptr<Transport>& SharedListener::transport() const {
  return switch_->transport();
}

std::vector<std::string> SharedListener::clusters() const {
  return switch_->Clusters();
}

std::shared_ptr<Transport> SharedListenerAccess::TransportOf(
    const SharedListener& listener) {
  return NewClusterTransport(listener.switch_);
}

std::shared_ptr<ClusterSwitch> SharedListenerAccess::SwitchOf(
    const SharedListener& listener) {
  return listener.switch_;
}

}  // namespace rocksync

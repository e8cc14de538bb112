#include "replication/replicator/cluster_transport.h"

#include <atomic>
#include <cstddef>
#include <utility>

namespace rocksync {
namespace {

class ClusterTransport : public Transport {
 public:
  ClusterTransport(std::shared_ptr<ClusterSwitch> clusters, std::string cluster)
      : clusters_(std::move(clusters)), cluster_(std::move(cluster)) {}
  ~ClusterTransport() override {
    StopListening();
    SetLogger(nullptr);
  }

  rocksdb::Status Connect(const std::string& address,
                          std::chrono::milliseconds timeout,
                          const std::function<bool()>& cancelled,
                          std::unique_ptr<Connection>* connection) override {
    return below().Connect(address, timeout, cancelled, connection);
  }
  rocksdb::Status CheckAddress(const std::string& address) const override {
    return below().CheckAddress(address);
  }
  rocksdb::Status Listen(
      const std::string& /*address*/,
      std::function<void(std::unique_ptr<Connection>)> accept) override {
    rocksdb::Status s =
        clusters_->Add(cluster_, max_accepted_, std::move(accept));
    if (s.ok()) listening_ = true;
    return s;
  }
  void SetMaxAccepted(size_t connections) override {
    max_accepted_ = connections;
  }
  void StopListening() override {
    if (listening_.exchange(false)) clusters_->Remove(cluster_);
  }
  std::string listen_address() const override {
    return listening_ ? below().listen_address() : "";
  }
  uint64_t replica_id() const override { return below().replica_id(); }
  CertificateState certificate() const override {
    return below().certificate();
  }
  void SetLogger(std::shared_ptr<rocksdb::Logger> logger) override {
    clusters_->log()->Set(this, std::move(logger));
  }

 private:
  Transport& below() const { return *clusters_->transport(); }

  const std::shared_ptr<ClusterSwitch> clusters_;
  const std::string cluster_;
  std::atomic<size_t> max_accepted_{0};
  std::atomic<bool> listening_{false};
};

}  // namespace

std::shared_ptr<Transport> NewClusterTransport(
    std::shared_ptr<ClusterSwitch> clusters, const std::string& cluster) {
  return std::make_shared<ClusterTransport>(std::move(clusters), cluster);
}

}  // namespace rocksync

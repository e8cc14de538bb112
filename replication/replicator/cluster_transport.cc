#include "replication/replicator/cluster_transport.h"

#include <utility>

namespace rocksync {
namespace {

class ClusterTransport : public Transport {
 public:
  explicit ClusterTransport(std::shared_ptr<ClusterSwitch> clusters)
      : clusters_(std::move(clusters)) {}
  ~ClusterTransport() override { clusters_->log()->Set(this, nullptr); }

  rocksdb::Status Connect(const std::string& address,
                          std::chrono::milliseconds timeout,
                          const std::function<bool()>& cancelled,
                          std::unique_ptr<Connection>* connection) override {
    return below().Connect(address, timeout, cancelled, connection);
  }
  rocksdb::Status CheckAddress(const std::string& address) const override {
    return below().CheckAddress(address);
  }
  // Not supported: an accepted connection comes with more than a Connection,
  // see ClusterSwitch::Add.
  rocksdb::Status Listen(
      const std::string& /*address*/,
      std::function<void(std::unique_ptr<Connection>)> /*accept*/) override {
    return rocksdb::Status::NotSupported(
        "a shared listener listens for all databases of its port");
  }
  void StopListening() override {}
  std::string listen_address() const override {
    return below().listen_address();
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
};

}  // namespace

std::shared_ptr<Transport> NewClusterTransport(
    std::shared_ptr<ClusterSwitch> clusters) {
  return std::make_shared<ClusterTransport>(std::move(clusters));
}

}  // namespace rocksync

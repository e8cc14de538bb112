// Certificates of a cluster in a scratch directory, transports that use them,
// and a listener that collects what it accepts.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_CLUSTER_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_CLUSTER_H_

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "replication/transport/certificate.h"
#include "replication/transport/identity.h"
#include "rocksync/tls_transport.h"
#include "rocksync/transport.h"
#include "tests/support/mentions.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {

using std::chrono::milliseconds;
inline constexpr milliseconds kGenerous{10'000};

class TestCluster {
 public:
  static constexpr std::chrono::seconds kThirtyDays{30 * 24 * 3600};

  // The CA lasts so long from now.
  explicit TestCluster(std::chrono::seconds ca_not_after = kThirtyDays) {
    EXPECT_TRUE(
        MakeCa(
            {.common_name = "cluster CA", .uri = "", .not_after = ca_not_after},
            &ca_)
            .ok());
    EXPECT_TRUE(WriteCertificate(ca_.certificate.get(), ca_file()).ok());
  }

  CertificateAndKey Issue(CertificateRequest request) const {
    CertificateAndKey made;
    EXPECT_TRUE(IssueCertificate(ca_, request, &made).ok());
    return made;
  }
  CertificateAndKey Issue(uint64_t id) const {
    return Issue({.common_name = "replica", .uri = ReplicaUri(id)});
  }

  // Files of `made`, ready to be used by a transport.
  TlsTransportOptions Files(const CertificateAndKey& made) const {
    TlsTransportOptions options;
    options.ca_file = ca_file();
    options.certificate_file = scratch_ / "replica.pem";
    options.private_key_file = scratch_ / "replica.key";
    EXPECT_TRUE(
        WriteCertificate(made.certificate.get(), options.certificate_file)
            .ok());
    EXPECT_TRUE(WritePrivateKey(made.key.get(), options.private_key_file).ok());
    return options;
  }
  TlsTransportOptions Options(uint64_t id) const { return Files(Issue(id)); }

  std::shared_ptr<Transport> NewTransport(
      const TlsTransportOptions& options) const {
    std::shared_ptr<Transport> transport;
    const rocksdb::Status s = NewTlsTransport(options, &transport);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return transport;
  }
  std::shared_ptr<Transport> NewTransport(uint64_t id) const {
    return NewTransport(Options(id));
  }

  std::string ca_file() const { return scratch_ / "ca.pem"; }
  const TemporaryDirectory& scratch() const { return scratch_; }

 private:
  const TemporaryDirectory scratch_;
  CertificateAndKey ca_;
};

// Accepted connections and refusals, in order.
class Acceptor {
 public:
  void Add(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    connections_.push_back(std::move(connection));
    changed_.notify_all();
  }
  void AddRefusal(const rocksdb::Status& why) {
    const std::lock_guard lock(mutex_);
    refusals_.push_back(why);
    changed_.notify_all();
  }
  // Null if none comes.
  std::unique_ptr<Connection> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kGenerous, [&] { return !connections_.empty(); });
    if (connections_.empty()) return nullptr;
    auto first = std::move(connections_.front());
    connections_.pop_front();
    return first;
  }
  rocksdb::Status NextRefusal() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kGenerous, [&] { return !refusals_.empty(); });
    if (refusals_.empty()) return rocksdb::Status::OK();
    const rocksdb::Status first = refusals_.front();
    refusals_.pop_front();
    return first;
  }
  void ListenOn(Transport* transport,
                const std::string& address = "127.0.0.1:0") {
    const rocksdb::Status s = transport->Listen(
        address, [this](std::unique_ptr<Connection> c) { Add(std::move(c)); });
    EXPECT_TRUE(s.ok()) << s.ToString();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Connection>> connections_;
  std::deque<rocksdb::Status> refusals_;
};

// How often WhenReceivable has told.
class Told {
 public:
  std::function<void()> Come() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++times_;
      changed_.notify_all();
    };
  }
  int times() {
    const std::lock_guard lock(mutex_);
    return times_;
  }
  bool Await(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kGenerous, [&] { return times_ >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int times_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_TRANSPORT_CLUSTER_H_

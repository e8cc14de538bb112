// Connections that replicas accepted and that are idle between sessions, over
// TLS and real RocksDB: they cost no thread each.

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "rocksync/shared_listener.h"
#include "rocksync/trial_certificates.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

constexpr size_t kLinks = 300;
constexpr size_t kMoreThanByDefault = 100;  // ReplicatorOptions::max_accepted
constexpr size_t kFewThreads = 8;

size_t Threads() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                    std::filesystem::directory_iterator()));
}

class IdleLinksTest : public ReplicationTest {
 protected:
  IdleLinksTest() : a_(NewReplica("a")), b_(NewReplica("b")) {
    options_ = TestReplica::OnDemand();
    options_.listen_address = "127.0.0.1:0";
    options_.max_accepted = kLinks;
  }
  ~IdleLinksTest() override {
    links_.clear();
    replicator_.reset();
  }

  void StartA() {
    TrialCertificate files;
    ASSERT_TRUE(IsOk(
        MakeTrialCertificate(a_->setting().certificates, a_->id(), &files)));
    TlsTransportOptions tls;
    tls.ca_file = files.ca_file;
    tls.certificate_file = files.certificate_file;
    tls.private_key_file = files.private_key_file;
    tls.limits.max_connections = max_connections_;
    ASSERT_TRUE(IsOk(NewTlsTransport(tls, &accepting_)));
    Share();
    ASSERT_TRUE(IsOk(Replicator::Start(
        options_, a_->db(), share_ ? nullptr : accepting_, &replicator_)));
    address_ = accepting_->listen_address();
    std::shared_ptr<Transport> transport;
    ASSERT_TRUE(IsOk(b_->NewTransport(&transport)));
    dialer_ = std::make_unique<ReplicatorContext>(
        TestReplica::OnDemand(), b_->db(), std::move(transport));
  }
  // One port for several databases, of which `a` is one.
  void Share() {
    if (!share_) return;
    SharedListenerOptions at;
    at.address = options_.listen_address;
    options_.listen_address.clear();
    ASSERT_TRUE(
        IsOk(SharedListener::Start(at, accepting_, &options_.shared_listener)));
  }

  // One more link from `b`.
  rocksdb::Status Join() {
    std::unique_ptr<Connection> connection;
    rocksdb::Status s = dialer_->transport->Connect(
        address_, milliseconds(30'000), nullptr, &connection);
    std::unique_ptr<Link> link;
    if (s.ok()) s = Link::Open(dialer_.get(), std::move(connection), &link);
    if (s.ok()) links_.push_back(std::move(link));
    return s;
  }
  void JoinAll(size_t links) {
    StartA();
    for (size_t i = 0; i < links; ++i) ASSERT_TRUE(IsOk(Join())) << i;
  }
  // The slot of the session before may not be free there yet.
  rocksdb::Status Session(size_t i) {
    for (;;) {
      const SessionResult result = links_[i]->RunSession("", /*slot=*/true);
      if (!result.busy || !result.link_usable) return result.status;
    }
  }

  const std::unique_ptr<TestReplica> a_;
  const std::unique_ptr<TestReplica> b_;
  ReplicatorOptions options_;
  bool share_ = false;
  size_t max_connections_ = 0;  // as many as max_accepted
  std::shared_ptr<Transport> accepting_;
  std::unique_ptr<Replicator> replicator_;
  std::string address_;
  std::unique_ptr<ReplicatorContext> dialer_;
  std::vector<std::unique_ptr<Link>> links_;
};

TEST_F(IdleLinksTest, HundredsHoldNoThreads) {
  JoinAll(1);
  const size_t before = Threads();
  while (links_.size() < kLinks) ASSERT_TRUE(IsOk(Join()));
  EXPECT_TRUE(Eventually([&] { return Threads() <= before + kFewThreads; }))
      << before << " before, " << Threads() << " now";
  // Sessions over each of them, several times, and threads go again.
  for (size_t i = 0; i < kLinks; i += 7) {
    a_->Put(Numbered("a", static_cast<int>(i)), "v");
    b_->Put(Numbered("b", static_cast<int>(i)), "v");
    ASSERT_TRUE(IsOk(Session(i))) << i;
    ASSERT_EQ(a_->Scan(), b_->Scan());
    ASSERT_TRUE(IsOk(Session(i))) << i;
  }
  EXPECT_TRUE(Eventually([&] { return Threads() <= before + kFewThreads; }))
      << before << " before, " << Threads() << " now";
}

// Whoever is one too many is told whose number it is.
TEST_F(IdleLinksTest, TheTransportTakesAsManyAsTheReplicatorKeeps) {
  options_.max_accepted = 3;
  JoinAll(3);
  const rocksdb::Status s = Join();
  EXPECT_TRUE(s.IsBusy()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "all 3 connections are taken; raise max_accepted"));
}

TEST_F(IdleLinksTest, CountInMaxAcceptedUntilTheirPeersGo) {
  options_.max_accepted = 5;
  max_connections_ = 2 * kLinks;  // the transport does not help
  JoinAll(5);
  EXPECT_FALSE(Join().ok());
  links_.erase(links_.begin(), links_.begin() + 2);
  EXPECT_TRUE(Eventually([&] { return Join().ok(); }));
  EXPECT_TRUE(Eventually([&] { return Join().ok(); }));
  EXPECT_FALSE(Join().ok());
  for (size_t i = 0; i < links_.size(); ++i) EXPECT_TRUE(IsOk(Session(i)));
}

TEST_F(IdleLinksTest, StopEndsThem) {
  JoinAll(50);
  replicator_->Stop();
  for (size_t i = 0; i < links_.size(); ++i) EXPECT_FALSE(Session(i).ok());
  EXPECT_TRUE(Join().IsIOError()) << "nobody listens";
}

// Peers that open sessions and go while it stops.
TEST_F(IdleLinksTest, StopWhileTheyWake) {
  for (int round = 0; round < 3; ++round) {
    links_.clear();
    replicator_.reset();
    options_.listen_address = "127.0.0.1:0";
    JoinAll(30);
    std::thread sessions([&] {
      for (size_t i = 0; i < links_.size(); ++i) {
        if (i % 3 == 0) links_[i].reset();
        if (i % 3 == 1) (void)Session(i);
      }
    });
    replicator_->Stop();
    sessions.join();
  }
}

TEST_F(IdleLinksTest, BehindASharedListenerToo) {
  share_ = true;
  JoinAll(1);
  const size_t before = Threads();
  while (links_.size() < kMoreThanByDefault) ASSERT_TRUE(IsOk(Join()));
  EXPECT_TRUE(Eventually([&] { return Threads() <= before + kFewThreads; }))
      << before << " before, " << Threads() << " now";
  a_->Put("k", "v");
  ASSERT_TRUE(IsOk(Session(42)));
  EXPECT_EQ(a_->Scan(), b_->Scan());
}

// One that was met in another incarnation goes when something comes over it.
TEST_F(IdleLinksTest, AStaleOneIsLetGoWhenItWakes) {
  JoinAll(2);
  ASSERT_TRUE(IsOk(Session(0)));
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(1, {a_->id(), b_->id()})));
  const SessionResult result = links_[0]->RunSession("", /*slot=*/true);
  EXPECT_FALSE(result.link_usable);
  EXPECT_TRUE(Eventually([&] { return Join().ok(); }));
}

}  // namespace
}  // namespace rocksync

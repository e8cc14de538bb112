// Several databases of one process behind one port and one certificate.

#include "rocksync/shared_listener.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replication/admin/admin_client.h"
#include "replication/membership/authentication.h"
#include "replication/session/messages.h"
#include "replication/store/store_access.h"
#include "replication/transport/certificate.h"
#include "rocksync/clone.h"
#include "rocksync/trial_certificates.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/file_content.h"
#include "tests/support/trial_transport.h"
#include "tests/unit/replication/transport/raw_peer.h"

namespace rocksync {
namespace {

constexpr milliseconds kPatience{10'000};
constexpr uint64_t kHostileId = 0xbad;
const char* const kClusters[] = {"orders", "stock", "users"};

// A process: a certificate, a port, a database for each cluster.
class Host {
 public:
  Host(std::string directory, std::string certificates, uint64_t id,
       size_t max_unauthenticated)
      : directory_(std::move(directory)),
        certificates_(std::move(certificates)),
        id_(id) {
    EXPECT_TRUE(IsOk(NewTrialTransport(certificates_, id_, &transport_)));
    SharedListenerOptions options;
    options.address = "127.0.0.1:0";
    options.max_unauthenticated = max_unauthenticated;
    EXPECT_TRUE(IsOk(SharedListener::Start(options, transport_, &listener_)));
  }

  TestReplica::Setting SettingOf(const std::string& cluster,
                                 const std::string& name) const {
    TestReplica::Setting setting;
    setting.directory = directory_ + "." + name;
    setting.certificates = certificates_;
    setting.cluster = cluster;
    setting.secret = static_cast<uint8_t>(cluster[0]);
    setting.adjust = [id = id_](rocksdb::Options*,
                                ReplicatedDBOptions* options) {
      options->new_replica_id = id;
    };
    return setting;
  }

  // Opens the database of a cluster and starts its replicator.
  rocksdb::Status Start(const std::string& cluster,
                        ReplicatorOptions options = TestReplica::OnDemand()) {
    Database& database = databases_[cluster];
    if (database.replica == nullptr) {
      database.replica =
          std::make_unique<TestReplica>(SettingOf(cluster, cluster));
      EXPECT_TRUE(database.replica->Open())
          << database.replica->open_status().ToString();
    }
    options.shared_listener = listener_;
    return Replicator::Start(options, database.replica->db(), nullptr,
                             &database.replicator);
  }
  void StartAll() {
    for (const char* cluster : kClusters) {
      EXPECT_TRUE(IsOk(Start(cluster))) << cluster;
    }
  }
  void Stop(const std::string& cluster) { databases_.erase(cluster); }

  TestReplica& replica(const std::string& cluster) {
    return *databases_[cluster].replica;
  }
  Replicator& replicator(const std::string& cluster) {
    return *databases_[cluster].replicator;
  }
  rocksdb::Status Sync(const std::string& cluster, const Host& with) {
    return replicator(cluster).SyncNow(with.address());
  }
  std::string Log(const std::string& cluster) {
    return FileContent(replica(cluster).setting().directory + "/LOG");
  }
  const std::shared_ptr<SharedListener>& listener() const { return listener_; }
  std::string address() const { return listener_->address(); }
  const std::string& certificates() const { return certificates_; }
  uint64_t id() const { return id_; }

 private:
  struct Database {
    std::unique_ptr<TestReplica> replica;
    std::unique_ptr<Replicator> replicator;
  };

  const std::string directory_;
  const std::string certificates_;
  const uint64_t id_;
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<SharedListener> listener_;
  std::map<std::string, Database> databases_;
};

class SharedListenerTest : public ReplicationTest {
 protected:
  std::unique_ptr<Host> NewHost(const std::string& name, uint64_t id,
                                size_t max_unauthenticated = 16) const {
    return std::make_unique<Host>(directory_ / name,
                                  directory_ / "certificates", id,
                                  max_unauthenticated);
  }

  const std::unique_ptr<Host> a_ = NewHost("a", 0xa);
  const std::unique_ptr<Host> b_ = NewHost("b", 0xb);
};

TEST_F(SharedListenerTest, ASessionGoesToTheDatabaseOfItsCluster) {
  a_->StartAll();
  b_->StartAll();
  EXPECT_EQ(a_->listener()->clusters(),
            std::vector<std::string>({"orders", "stock", "users"}));
  for (const std::string cluster : kClusters) {
    a_->replica(cluster).Put("from a", cluster);
    b_->replica(cluster).Put("from b", cluster);
    ASSERT_TRUE(IsOk(a_->Sync(cluster, *b_))) << cluster;
    EXPECT_EQ(a_->replicator(cluster).listen_address(), a_->address());
    EXPECT_EQ(a_->replica(cluster).id(), 0xau);
  }
  for (const std::string cluster : kClusters) {
    const Contents both = {{"from a", cluster}, {"from b", cluster}};
    EXPECT_EQ(a_->replica(cluster).Scan(), both);
    EXPECT_EQ(b_->replica(cluster).Scan(), both);
  }
}

TEST_F(SharedListenerTest, AStreamGoesToTheDatabaseOfItsCluster) {
  ReplicatorOptions options = TestReplica::Hourly();
  options.peers = {b_->address()};
  for (const char* cluster : kClusters) {
    ASSERT_TRUE(IsOk(b_->Start(cluster, TestReplica::Hourly())));
    ASSERT_TRUE(IsOk(a_->Start(cluster, options)));
  }
  for (const std::string cluster : kClusters) {
    ASSERT_TRUE(Eventually([&] {
      return a_->replicator(cluster).stats().stream.open > 0 &&
             b_->replicator(cluster).stats().stream.open > 0;
    }));
    a_->replica(cluster).Put("from a", cluster);
    b_->replica(cluster).Put("from b", cluster);
    const Contents both = {{"from a", cluster}, {"from b", cluster}};
    EXPECT_TRUE(Eventually([&] {
      return a_->replica(cluster).Scan() == both &&
             b_->replica(cluster).Scan() == both;
    })) << cluster;
  }
}

TEST_F(SharedListenerTest, TheBoundOfUnauthenticatedOnesIsForNobodyElse) {
  const auto c = NewHost("c", 0xc, /*max_unauthenticated=*/1);
  ReplicatorOptions options = TestReplica::Hourly();
  options.peers = {c->address()};
  for (const char* cluster : kClusters) {
    ASSERT_TRUE(IsOk(c->Start(cluster, TestReplica::Hourly())));
    ASSERT_TRUE(IsOk(a_->Start(cluster, options)));
  }
  EXPECT_TRUE(Eventually([&] {
    for (const char* cluster : kClusters) {
      if (c->replicator(cluster).stats().stream.open == 0) return false;
    }
    return true;
  }));
}

TEST_F(SharedListenerTest, ACloneComesThroughThePortAndJoinsIt) {
  a_->StartAll();
  a_->replica("orders").Put("k", "v");
  ASSERT_TRUE(IsOk(b_->Start("stock")));
  const TestReplica::Setting setting = b_->SettingOf("orders", "orders");
  rocksdb::Options options;
  options.create_if_missing = true;
  ReplicatedDBOptions replication;
  replication.cluster_name = setting.cluster;
  replication.cluster_secret.fill(setting.secret);
  CloneOptions clone;
  clone.transport = b_->listener()->transport();
  clone.source = a_->address();
  CloneResult result;
  ASSERT_TRUE(IsOk(ReplicatedDB::Clone(
      options, replication, setting.directory,
      {{rocksdb::kDefaultColumnFamilyName, options}}, clone, &result)));
  EXPECT_EQ(result.replica_id, b_->id());
  EXPECT_TRUE(result.proven_equal) << result.session_error;
  ASSERT_TRUE(IsOk(b_->Start("orders")));
  b_->replica("orders").Put("k2", "v2");
  ASSERT_TRUE(IsOk(a_->Sync("orders", *b_)));
  EXPECT_EQ(a_->replica("orders").Scan(), b_->replica("orders").Scan());
  EXPECT_EQ(a_->replica("orders").Scan().size(), 2u);
}

// As `rocksync status` does.
TEST_F(SharedListenerTest, AnOperatorAsksTheDatabaseOfACluster) {
  a_->StartAll();
  AdminTarget target;
  target.transport = b_->listener()->transport();
  target.address = a_->address();
  for (const std::string cluster : kClusters) {
    target.cluster = cluster;
    target.secret.fill(static_cast<uint8_t>(cluster[0]));
    std::unique_ptr<AdminClient> operator_of;
    ASSERT_TRUE(IsOk(AdminClient::Open(target, Request(), &operator_of)));
    std::string status;
    ASSERT_TRUE(IsOk(operator_of->Answer(nullptr, &status)));
    EXPECT_NE(status.find("\"cluster\":\"" + cluster + "\""), std::string::npos)
        << status;
  }
}

// Its connection is served by one thread from beginning to end.
TEST_F(SharedListenerTest, WhoHasProvenTheSecretIsNotClosedForOneThatHasNot) {
  const auto c = NewHost("c", 0xc, /*max_unauthenticated=*/1);
  ASSERT_TRUE(IsOk(c->Start("orders")));
  ASSERT_TRUE(IsOk(b_->Start("orders")));
  AdminTarget target;
  target.transport = a_->listener()->transport();
  target.address = c->address();
  target.cluster = "orders";
  target.secret.fill('o');
  Request request;
  request.kind = Request::Kind::kCompare;
  request.families = c->replica("orders").db()->ReplicatedFamilies();
  std::unique_ptr<AdminClient> operator_of;
  ASSERT_TRUE(IsOk(AdminClient::Open(target, request, &operator_of)));
  std::string granted;
  ASSERT_TRUE(IsOk(operator_of->Answer(nullptr, &granted)));
  ASSERT_TRUE(IsOk(b_->Sync("orders", *c)));
  const auto view = StoreAccess::NewView(b_->replica("orders").db());
  VerifyTask task;
  task.found = [](const Difference&) { return true; };
  SessionReport report;
  EXPECT_TRUE(IsOk(operator_of->Compare(view.get(), task, &report)));
  EXPECT_TRUE(report.compared);
}

TEST_F(SharedListenerTest, OneDatabaseClosesAndComesBackWhileOthersGoOn) {
  a_->StartAll();
  b_->StartAll();
  for (const char* cluster : kClusters) {
    ASSERT_TRUE(IsOk(b_->Sync(cluster, *a_)));
  }
  a_->Stop("orders");
  EXPECT_EQ(a_->listener()->clusters(),
            std::vector<std::string>({"stock", "users"}));
  const rocksdb::Status s = b_->Sync("orders", *a_);
  EXPECT_FALSE(s.ok());
  const rocksdb::Status again = b_->Sync("orders", *a_);
  EXPECT_TRUE(again.IsInvalidArgument()) << again.ToString();
  EXPECT_TRUE(Mentions(again, "\"orders\""));
  EXPECT_TRUE(Mentions(again, "no replica listens on this port"));
  b_->replica("stock").Put("k", "v");
  EXPECT_TRUE(IsOk(b_->Sync("stock", *a_)));
  EXPECT_EQ(a_->replica("stock").Scan().count("k"), 1u);
  ASSERT_TRUE(IsOk(a_->Start("orders")));
  b_->replica("orders").Put("k", "v");
  EXPECT_TRUE(IsOk(b_->Sync("orders", *a_)));
  EXPECT_EQ(a_->replica("orders").Scan().count("k"), 1u);
}

TEST_F(SharedListenerTest, AnotherDatabaseOfTheSameClusterIsRefused) {
  a_->StartAll();
  TestReplica second(a_->SettingOf("orders", "second"));
  ASSERT_TRUE(second.Open());
  ReplicatorOptions options = TestReplica::OnDemand();
  options.shared_listener = a_->listener();
  std::unique_ptr<Replicator> replicator;
  rocksdb::Status s =
      Replicator::Start(options, second.db(), nullptr, &replicator);
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "another database of the cluster \"orders\""));
  // The first one is where it was.
  ASSERT_TRUE(IsOk(b_->Start("orders")));
  a_->replica("orders").Put("k", "v");
  EXPECT_TRUE(IsOk(b_->Sync("orders", *a_)));
  EXPECT_EQ(b_->replica("orders").Scan().count("k"), 1u);
  a_->Stop("orders");
  EXPECT_TRUE(
      IsOk(Replicator::Start(options, second.db(), nullptr, &replicator)));
}

TEST_F(SharedListenerTest, WrongOptions) {
  std::shared_ptr<SharedListener> none;
  SharedListenerOptions at;
  at.address = "127.0.0.1:0";
  rocksdb::Status s = SharedListener::Start(at, nullptr, &none);
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "needs a transport"));
  s = SharedListener::Start(at, a_->listener()->transport(), &none);
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "already listening"));
  std::shared_ptr<Transport> other;
  ASSERT_TRUE(IsOk(NewTrialTransport(a_->certificates(), a_->id(), &other)));
  at.max_unauthenticated = 0;
  s = SharedListener::Start(at, other, &none);
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "max_unauthenticated"));
  at.max_unauthenticated = 16;
  at.address = a_->address();
  s = SharedListener::Start(at, other, &none);
  EXPECT_TRUE(s.IsIOError() && Mentions(s, "already in use"));
  at.address = "nowhere";
  EXPECT_TRUE(SharedListener::Start(at, other, &none).IsInvalidArgument());
  EXPECT_EQ(none, nullptr);

  TestReplica replica(a_->SettingOf("orders", "orders"));
  ASSERT_TRUE(replica.Open());
  std::unique_ptr<Replicator> replicator;
  ReplicatorOptions options = TestReplica::OnDemand();
  options.shared_listener = a_->listener();
  s = Replicator::Start(options, replica.db(), other, &replicator);
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "another one"));
  options.listen_address = "127.0.0.1:0";
  s = Replicator::Start(options, replica.db(), nullptr, &replicator);
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "exclude each other"));
  // The listener's own may be named, and the database's id has to be its.
  options.listen_address.clear();
  EXPECT_TRUE(IsOk(Replicator::Start(
      options, replica.db(), a_->listener()->transport(), &replicator)));
  const auto stranger = NewReplica("stranger");
  s = Replicator::Start(options, stranger->db(), nullptr, &replicator);
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "of another replica"));
}

// The application lets go of the listener, and then of the databases.
TEST_F(SharedListenerTest, ListensUntilTheLastOfItsReplicatorsIsGone) {
  a_->StartAll();
  b_->StartAll();
  std::shared_ptr<Transport> transport;
  ASSERT_TRUE(IsOk(NewTrialTransport(a_->certificates(), 0xc, &transport)));
  SharedListenerOptions at;
  at.address = "127.0.0.1:0";
  std::shared_ptr<SharedListener> listener;
  ASSERT_TRUE(IsOk(SharedListener::Start(at, transport, &listener)));
  at.address = listener->address();
  TestReplica::Setting setting = a_->SettingOf("stock", "c");
  setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->new_replica_id = 0xc;
  };
  TestReplica replica(setting);
  ASSERT_TRUE(replica.Open());
  ReplicatorOptions options = TestReplica::OnDemand();
  options.shared_listener = std::move(listener);
  std::unique_ptr<Replicator> replicator;
  ASSERT_TRUE(
      IsOk(Replicator::Start(options, replica.db(), nullptr, &replicator)));
  options.shared_listener.reset();
  EXPECT_TRUE(IsOk(b_->replicator("stock").SyncNow(at.address)));
  replicator.reset();
  EXPECT_EQ(transport->listen_address(), "");
  EXPECT_TRUE(b_->replicator("stock").SyncNow(at.address).IsIOError());
}

TEST_F(SharedListenerTest, EachDatabaseKeepsItsOwnLimitOfConnections) {
  ReplicatorOptions one = TestReplica::OnDemand();
  one.max_accepted = 1;
  for (const char* cluster : kClusters) {
    ASSERT_TRUE(IsOk(a_->Start(cluster, one)));
  }
  b_->StartAll();
  const auto c = NewHost("c", 0xc);
  c->StartAll();
  ASSERT_TRUE(IsOk(b_->Sync("orders", *a_)));  // and keeps the connection
  const rocksdb::Status s = c->Sync("orders", *a_);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(IsOk(c->Sync("stock", *a_)));
}

TEST_F(SharedListenerTest, RenewedCertificatesAreTakenUp) {
  a_->StartAll();
  b_->StartAll();
  ASSERT_TRUE(IsOk(b_->Sync("orders", *a_)));
  const CertificateState before = a_->listener()->transport()->certificate();
  EXPECT_EQ(before.renewals, 0u);
  TrialCertificate files;
  ASSERT_TRUE(IsOk(MakeTrialCertificate(a_->certificates(), a_->id(), &files)));
  EXPECT_TRUE(IsOk(b_->Sync("stock", *a_)));
  const CertificateState after = a_->listener()->transport()->certificate();
  EXPECT_EQ(after.renewals, 1u);
  EXPECT_EQ(after.error, "");
  for (const char* cluster : kClusters) {
    EXPECT_NE(a_->Log(cluster).find("renewed certificate files are in use"),
              std::string::npos)
        << cluster;
  }
}

// Peers with a good certificate, who do not know a secret.
class HostilePeersOfASharedListener : public SharedListenerTest {
 protected:
  HostilePeersOfASharedListener() {
    a_->StartAll();
    b_->StartAll();
    TrialCertificate files;
    EXPECT_TRUE(
        IsOk(MakeTrialCertificate(a_->certificates(), kHostileId, &files)));
    EXPECT_TRUE(
        IsOk(ReadCertificate(files.certificate_file, &own_.certificate)));
    EXPECT_TRUE(IsOk(ReadPrivateKey(files.private_key_file, &own_.key)));
    EXPECT_TRUE(
        IsOk(NewTrialTransport(a_->certificates(), kHostileId, &transport_)));
  }

  std::unique_ptr<Connection> Connect() {
    std::unique_ptr<Connection> connection;
    EXPECT_TRUE(IsOk(
        transport_->Connect(a_->address(), kPatience, nullptr, &connection)));
    return connection;
  }
  // What a peer that names this cluster is told.
  std::string AnswerTo(const std::string& cluster) {
    const std::unique_ptr<Connection> connection = Connect();
    EXPECT_TRUE(IsOk(
        connection->Send(AuthHelloMessage({cluster, {1, 2, 3}}), kPatience)));
    std::string answer;
    EXPECT_TRUE(IsOk(connection->Receive(&answer, kPatience)));
    return answer;
  }
  void ExpectOthersComeIn() {
    for (const char* cluster : kClusters) {
      EXPECT_TRUE(IsOk(b_->Sync(cluster, *a_))) << cluster;
    }
  }

  CertificateAndKey own_;
  std::shared_ptr<Transport> transport_;
};

TEST_F(HostilePeersOfASharedListener, AnUnknownClusterIsToldSoAndNoMore) {
  const std::string answer = AnswerTo("nowhere");
  EXPECT_EQ(answer[0], static_cast<char>(MessageType::kFarewell));
  EXPECT_NE(answer.find("\"nowhere\""), std::string::npos) << answer;
  for (const char* cluster : kClusters) {
    EXPECT_EQ(answer.find(cluster), std::string::npos) << answer;
    EXPECT_TRUE(Eventually([&] {
      return a_->Log(cluster).find("refused connection from ") !=
             std::string::npos;
    })) << cluster;
  }
  EXPECT_EQ(AnswerTo("orders")[0], static_cast<char>(MessageType::kChallenge));
}

TEST_F(HostilePeersOfASharedListener, AnotherSecretIsRefused) {
  TestReplica::Setting setting = b_->SettingOf("orders", "other");
  setting.secret = 1;
  setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->new_replica_id = kHostileId;
  };
  TestReplica other(setting);
  ASSERT_TRUE(other.Open());
  ASSERT_TRUE(IsOk(other.Start()));
  const rocksdb::Status s = other.replicator()->SyncNow(a_->address());
  EXPECT_TRUE(s.IsInvalidArgument() && Mentions(s, "secret"));
}

// Before TLS, before their first message, within it, and behind it: more of
// each than the transport takes connections.
TEST_F(HostilePeersOfASharedListener, WhoDoesNotGoOnKeepsNobodyOut) {
  constexpr int kEach = 70;
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < kEach; ++i) {
    silent.push_back(std::make_unique<RawPeer>(a_->address()));
  }
  ExpectOthersComeIn();
  for (int i = 0; i < kEach; ++i) {
    silent.push_back(std::make_unique<RawPeer>(a_->address()));
    ASSERT_TRUE(silent.back()->StartTls(own_));
    ASSERT_EQ(silent.back()->Read(1), std::string(1, '\0'));
    if (i % 2 == 0) (void)silent.back()->Write("\x40hello");
  }
  for (const char* cluster : kClusters) b_->Stop(cluster);
  b_->StartAll();  // so that they connect anew
  ExpectOthersComeIn();
  std::vector<std::unique_ptr<Connection>> named;
  for (int i = 0; i < kEach; ++i) {
    named.push_back(Connect());
    (void)named.back()->Send(AuthHelloMessage({kClusters[i % 3], {1, 2, 3}}),
                             kPatience);
  }
  for (const char* cluster : kClusters) b_->Stop(cluster);
  b_->StartAll();
  ExpectOthersComeIn();
}

}  // namespace
}  // namespace rocksync

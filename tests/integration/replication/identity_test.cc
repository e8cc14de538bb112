// Who is refused, by name, on both sides.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replication/membership/setup.h"
#include "replication/peering/admission.h"
#include "replication/session/messages.h"
#include "rocksdb/comparator.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

class Identity : public ReplicationTest {
 protected:
  // Opens as a new replica if it was refused as a copy.
  TestReplica::Setting WillingToBecomeNew(const std::string& name) const {
    TestReplica::Setting setting = SettingOf(name);
    setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
      options->open_copy_as_new_replica = true;
    };
    return setting;
  }
};

TEST_F(Identity, AnotherClustersName) {
  const auto a = NewReplica("a");
  TestReplica::Setting setting = SettingOf("b");
  setting.cluster = "production";
  TestReplica b(setting);
  ASSERT_TRUE(b.Open());
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b.Start()));
  const rocksdb::Status s = a->replicator()->SyncNow(b.address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "\"production\""));
  EXPECT_TRUE(Mentions(s, "\"test\""));
}

TEST_F(Identity, AnotherSecret) {
  const auto a = NewReplica("a");
  TestReplica::Setting setting = SettingOf("b");
  setting.secret = 8;
  TestReplica b(setting);
  ASSERT_TRUE(b.Open());
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b.Start()));
  const rocksdb::Status s = a->replicator()->SyncNow(b.address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "secret"));
}

TEST_F(Identity, CertificateOfAnotherReplicaAtStart) {
  const auto a = NewReplica("a");
  a->BorrowCertificate(0x1234);
  const rocksdb::Status s = a->Start();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "names replica 0000000000001234"));
}

// Not a copy: nothing follows from it.
TEST_F(Identity, OurOwnAddress) {
  TestReplica a(WillingToBecomeNew("a"));
  ASSERT_TRUE(a.Open());
  const uint64_t id = a.id();
  ASSERT_TRUE(IsOk(a.Start()));
  const rocksdb::Status s = a.replicator()->SyncNow(a.address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "leads back to"));
  a.Stop();
  a.Close();
  ASSERT_TRUE(a.Open());
  EXPECT_EQ(a.id(), id);
}

// A peer of a later release, which speaks only what is not known here.
TEST_F(Identity, AnUnknownProtocolVersion) {
  const auto a = NewReplica("a");
  const auto network = NewMemoryNetwork();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.listen_address = "a";
  std::unique_ptr<Replicator> listener;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, a->db(), network->Join(a->id()), &listener)));
  std::unique_ptr<Connection> connection;
  ASSERT_TRUE(IsOk(network->Join(77)->Connect("a", std::chrono::seconds(60), {},
                                              &connection)));
  AdmissionConfig terms;
  terms.cluster = "test";
  terms.secret = a->db()->replication_options().cluster_secret;
  terms.shown_id = 77;
  Admission admission;
  ASSERT_TRUE(IsOk(AuthenticateAsDialer(terms, connection.get(), &admission)));
  SetupFacts facts;
  facts.cluster = "test";
  facts.replica_id = 77;
  std::string message(1, static_cast<char>(MessageType::kSetup));
  EncodeSetup(facts, &message);
  // After the type and "rocksync": the oldest version, and the newest.
  message[9] = static_cast<char>(kProtocolVersion + 1);
  message[10] = static_cast<char>(kProtocolVersion + 2);
  ASSERT_TRUE(IsOk(connection->Send(message, std::chrono::seconds(60))));
  std::string answer;
  ASSERT_TRUE(IsOk(connection->Receive(&answer, std::chrono::seconds(60))));
  EXPECT_EQ(answer[0], static_cast<char>(MessageType::kRefusal));
  for (const char* part :
       {"versions 7 to 8", "speaks version 6", "run releases"}) {
    EXPECT_NE(answer.find(part), std::string::npos) << answer;
  }
  // And goes on with others.
  EXPECT_TRUE(IsOk(a->db()->Put(rocksdb::WriteOptions(), "k", "v")));
}

// Says that it remembers a later incarnation of whoever dials, and does not
// know the secret.
class Slanderer {
 public:
  explicit Slanderer(TestReplica& with_its_certificate) {
    EXPECT_TRUE(IsOk(with_its_certificate.NewTransport(&transport_)));
    id_ = with_its_certificate.id();
    EXPECT_TRUE(IsOk(transport_->Listen(
        "127.0.0.1:0", [this](std::unique_ptr<Connection> connection) {
          threads_.emplace_back([this, connection = std::move(connection)] {
            Talk(connection.get());
          });
        })));
  }
  ~Slanderer() {
    transport_->StopListening();
    for (std::thread& thread : threads_) thread.join();
  }
  std::string address() const { return transport_->listen_address(); }
  int talks() const { return talks_; }

 private:
  void Talk(Connection* connection) {
    std::string message;
    if (!connection->Receive(&message, kPatience).ok()) return;
    ++talks_;
    if (message[0] == static_cast<char>(MessageType::kSetup)) {
      AnswerSetup(connection, message);
    } else {
      std::string refusal(1, static_cast<char>(MessageType::kRefusal));
      refusal += static_cast<char>(RefusalReason::kRolledBack);
      refusal += "superseded: a restored backup or a copy";
      (void)connection->Send(refusal, kPatience);
    }
    (void)connection->Receive(&message, kPatience);  // until it has read it
  }

  void AnswerSetup(Connection* connection, std::string message) {
    SetupFacts facts;
    facts.cluster = "test";
    facts.replica_id = id_;
    facts.families = {{"default", "leveldb.BytewiseComparator"}};
    SetupPolicy policy;
    policy.remembered = [](uint64_t) {
      return Incarnation{.incarnation = {.counter = 1000, .random = 1}};
    };
    Setup setup(Role::kResponder, facts, ClusterSecret{99}, policy);
    EXPECT_FALSE(setup.Receive(message).ok());
    while (setup.NextMessage(&message)) {
      (void)connection->Send(message, kPatience);
    }
  }

  static constexpr milliseconds kPatience{60'000};
  std::shared_ptr<Transport> transport_;
  uint64_t id_ = 0;
  std::atomic<int> talks_ = 0;
  std::vector<std::thread> threads_;
};

// Who is refused as superseded opens as a new replica, if the application lets
// it. Whoever has a certificate alone cannot bring that about.
TEST_F(Identity, ARefusalWithoutTheSecretIsReportedAndForgotten) {
  const auto b = NewReplica("b");
  TestReplica a(WillingToBecomeNew("a"));
  ASSERT_TRUE(a.Open());
  const uint64_t id = a.id();
  Slanderer slanderer(*b);
  ASSERT_TRUE(IsOk(a.Start()));
  EXPECT_FALSE(a.replicator()->SyncNow(slanderer.address()).ok());
  EXPECT_EQ(slanderer.talks(), 1);
  a.Stop();
  a.Close();
  ASSERT_TRUE(a.Open());
  EXPECT_EQ(a.id(), id);
}

// b's directory is put back to what it was two openings ago, so no local check
// can tell; a remembers.
class RolledBack : public ReplicationTest {
 protected:
  RolledBack() : a_(NewReplica("a")), b_(NewReplica("b")) {
    const std::string backup = directory_ / "backup";
    b_->Put("k", "old");
    b_->Close();
    std::filesystem::copy(b_->setting().directory, backup,
                          std::filesystem::copy_options::recursive);
    EXPECT_TRUE(IsOk(a_->Start()));
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(b_->Open());
      EXPECT_TRUE(IsOk(b_->Start()));
      EXPECT_TRUE(IsOk(b_->replicator()->SyncNow(a_->address())));
      b_->Stop();
      b_->Close();
    }
    std::filesystem::remove_all(b_->setting().directory);
    std::filesystem::copy(backup, b_->setting().directory,
                          std::filesystem::copy_options::recursive);
  }
  TestReplica::Setting AsNewReplica(const std::string& name) {
    TestReplica::Setting setting = SettingOf(name);
    setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
      options->open_copy_as_new_replica = true;
    };
    return setting;
  }

  const std::unique_ptr<TestReplica> a_;
  const std::unique_ptr<TestReplica> b_;
};

TEST_F(RolledBack, ComesAndIsRefusedByName) {
  if (!b_->Open()) {
    EXPECT_TRUE(Mentions(b_->open_status(), "copy"));
    return;  // noticed even sooner
  }
  ASSERT_TRUE(IsOk(b_->Start()));
  const rocksdb::Status s = b_->replicator()->SyncNow(a_->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "rolled back"));
  EXPECT_TRUE(Mentions(s,
                       "option open_copy_as_new_replica, of rocksync-store "
                       "--as-new-replica"));
  // The one that refuses it says so for a while, and from where it called. It
  // notes that after it has answered.
  EXPECT_TRUE(Eventually(
      [this] { return a_->replicator()->stats().connections_refused > 0; }));
  const ReplicationStats stats = a_->replicator()->stats();
  EXPECT_EQ(stats.gc.identity_conflict, b_->id());
  EXPECT_NE(stats.last_refusal.find("rolled back"), std::string::npos)
      << stats.last_refusal;
  // What it recommends works, though nothing here but a's word tells that
  // these data are old.
  const uint64_t rolled_back = b_->id();
  b_->Put("of the backup", "kept");
  b_->Stop();
  b_->Close();
  TestReplica renewed(AsNewReplica("b"));
  ASSERT_TRUE(renewed.Open()) << renewed.open_status().ToString();
  EXPECT_NE(renewed.id(), rolled_back);
  ASSERT_TRUE(IsOk(renewed.Start()));
  ASSERT_TRUE(IsOk(renewed.replicator()->SyncNow(a_->address())));
  EXPECT_EQ(renewed.Scan(), a_->Scan());
  EXPECT_EQ(a_->Scan().count("of the backup"), 1u);
}

TEST_F(RolledBack, IsVisitedAndRefusedByName) {
  if (!b_->Open()) return;
  ASSERT_TRUE(IsOk(b_->Start()));
  const rocksdb::Status s = a_->replicator()->SyncNow(b_->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "rolled back"));
  EXPECT_EQ(a_->replicator()->stats().gc.identity_conflict, b_->id());
}

// `cp -a` of a replica that lives on: the copy is refused, says what to do, and
// with that done it is one replica more; the original notices nothing.
TEST_F(RolledBack, ARunningCopyIsRefusedThenOpensAsANewReplica) {
  std::filesystem::remove_all(b_->setting().directory);
  TestReplica original(SettingOf("original"));
  ASSERT_TRUE(original.Open());
  original.Put("shared", "value");
  original.Close();
  std::filesystem::copy(original.setting().directory,
                        SettingOf("copy").directory,
                        std::filesystem::copy_options::recursive);
  ASSERT_TRUE(original.Open());
  ASSERT_TRUE(IsOk(original.Start()));
  ASSERT_TRUE(IsOk(original.replicator()->SyncNow(a_->address())));
  {
    TestReplica copy(SettingOf("copy"));
    ASSERT_TRUE(copy.Open());
    EXPECT_EQ(copy.id(), original.id());
    ASSERT_TRUE(IsOk(copy.Start()));
    copy.Put("of the copy", "kept");
    const rocksdb::Status s = copy.replicator()->SyncNow(a_->address());
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "one of two with the same identity"));
    EXPECT_TRUE(Mentions(s, "open_copy_as_new_replica"));
    EXPECT_EQ(a_->Scan().count("of the copy"), 0u);
  }
  TestReplica renewed(AsNewReplica("copy"));
  ASSERT_TRUE(renewed.Open()) << renewed.open_status().ToString();
  EXPECT_NE(renewed.id(), original.id());
  ASSERT_TRUE(IsOk(renewed.Start()));
  EXPECT_TRUE(IsOk(renewed.replicator()->SyncNow(a_->address())));
  EXPECT_TRUE(IsOk(original.replicator()->SyncNow(a_->address())));
  EXPECT_EQ(renewed.Scan(), a_->Scan());
  EXPECT_EQ(original.Scan(), a_->Scan());
  EXPECT_EQ(a_->Scan().count("of the copy"), 1u);
}

// The original itself may be whom the copy meets first. Neither knows which of
// the two is the copy: both note that it happened, and who is opened with
// open_copy_as_new_replica becomes another replica.
class MetItself : public ReplicationTest {
 protected:
  // The original lives in another directory than it was made in, and the copy
  // where it was made: nothing but the meeting tells.
  void SetUp() override {
    TestReplica first(SettingOf("home"));
    ASSERT_TRUE(first.Open());
    first.Put("k", "v");
    first.Close();
    std::filesystem::copy(first.setting().directory,
                          SettingOf("away").directory,
                          std::filesystem::copy_options::recursive);
    original_ = std::make_unique<TestReplica>(SettingOf("away"));
    copy_ = std::make_unique<TestReplica>(SettingOf("home"));
    for (TestReplica* replica : {original_.get(), copy_.get()}) {
      ASSERT_TRUE(replica->Open());
      ASSERT_TRUE(IsOk(replica->Start()));
    }
    ASSERT_EQ(original_->id(), copy_->id());
  }

  void ExpectMet(TestReplica* who, TestReplica* whom) {
    const rocksdb::Status s = who->replicator()->SyncNow(whom->address());
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "exists twice"));
    EXPECT_TRUE(Mentions(s, "open_copy_as_new_replica"));
    // Who was dialed notes it after it has answered.
    EXPECT_TRUE(Eventually([whom] {
      return whom->replicator()->stats().connections_refused > 0;
    }));
  }

  void ExpectTheRemedyWorks() {
    const uint64_t id = original_->id();
    copy_.reset();
    TestReplica::Setting setting = SettingOf("home");
    setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
      options->open_copy_as_new_replica = true;
    };
    TestReplica renewed(setting);
    ASSERT_TRUE(renewed.Open()) << renewed.open_status().ToString();
    EXPECT_NE(renewed.id(), id);
    ASSERT_TRUE(IsOk(renewed.Start()));
    EXPECT_TRUE(IsOk(renewed.replicator()->SyncNow(original_->address())));
    original_->Stop();
    original_->Close();
    ASSERT_TRUE(original_->Open());
    EXPECT_EQ(original_->id(), id) << "the original is not fenced";
    ASSERT_TRUE(IsOk(original_->Start()));
    EXPECT_TRUE(IsOk(original_->replicator()->SyncNow(renewed.address())));
  }

  std::unique_ptr<TestReplica> original_;
  std::unique_ptr<TestReplica> copy_;
};

TEST_F(MetItself, TheCopyThatDialsOpensAsANewReplica) {
  ExpectMet(copy_.get(), original_.get());
  ExpectTheRemedyWorks();
}

TEST_F(MetItself, TheCopyThatIsDialedOpensAsANewReplica) {
  ExpectMet(original_.get(), copy_.get());
  ExpectTheRemedyWorks();
}

// A connection may last for weeks: what was agreed upon when it was set up
// does not keep the original from being noticed once its copy has come.
TEST_F(RolledBack, ACopyIsNoticedWhileTheOriginalStaysConnected) {
  TestReplica original(SettingOf("original"));
  ASSERT_TRUE(original.Open());
  ASSERT_TRUE(IsOk(original.Start()));
  original.Put("shared", "value");
  ASSERT_TRUE(IsOk(original.replicator()->SyncNow(a_->address())));
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(original.address())));
  std::filesystem::copy(original.setting().directory,
                        SettingOf("copy").directory,
                        std::filesystem::copy_options::recursive);
  TestReplica copy(SettingOf("copy"));
  ASSERT_TRUE(copy.Open());
  ASSERT_EQ(copy.id(), original.id());
  ASSERT_TRUE(IsOk(copy.Start()));
  ASSERT_TRUE(IsOk(copy.replicator()->SyncNow(a_->address())));
  rocksdb::Status s = original.replicator()->SyncNow(a_->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "rolled back"));
  s = a_->replicator()->SyncNow(original.address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "rolled back"));
  EXPECT_TRUE(IsOk(copy.replicator()->SyncNow(a_->address())));
}

TEST_F(Identity, OtherFamilies) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily(rocksdb::ColumnFamilyOptions(),
                                               "orders", &handle)));
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  rocksdb::Status s = a->replicator()->SyncNow(b->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "\"orders\""));
  // Created on the other side too, they agree.
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_TRUE(IsOk(a->db()->CreateColumnFamily(rocksdb::ColumnFamilyOptions(),
                                               "orders", &other)));
  ASSERT_TRUE(IsOk(b->db()->Put(rocksdb::WriteOptions(), handle, "k", "v")));
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  std::string value;
  EXPECT_TRUE(IsOk(a->db()->Get(rocksdb::ReadOptions(), other, "k", &value)));
  EXPECT_EQ(value, "v");
  EXPECT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(handle)));
  EXPECT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(other)));
}

TEST_F(Identity, OtherComparator) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  rocksdb::ColumnFamilyOptions reversed;
  reversed.comparator = rocksdb::ReverseBytewiseComparator();
  rocksdb::ColumnFamilyHandle* of_a = nullptr;
  rocksdb::ColumnFamilyHandle* of_b = nullptr;
  ASSERT_TRUE(IsOk(a->db()->CreateColumnFamily(rocksdb::ColumnFamilyOptions(),
                                               "orders", &of_a)));
  ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily(reversed, "orders", &of_b)));
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  const rocksdb::Status s = a->replicator()->SyncNow(b->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "comparator"));
  EXPECT_TRUE(Mentions(s, "ReverseBytewise"));
  EXPECT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(of_a)));
  EXPECT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(of_b)));
}

}  // namespace
}  // namespace rocksync

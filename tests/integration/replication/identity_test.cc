// Who is refused, by name, on both sides.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "replication/protocol/messages.h"
#include "replication/protocol/setup.h"
#include "rocksdb/comparator.h"
#include "rocksync/memory_transport.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

using Identity = ReplicationTest;

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

TEST_F(Identity, OurOwnAddress) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  const rocksdb::Status s = a->replicator()->SyncNow(a->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "exists twice"));
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
  SetupFacts facts;
  facts.cluster = "test";
  facts.replica_id = 77;
  std::string message(1, static_cast<char>(MessageType::kSetup));
  EncodeSetup(facts, &message);
  // After the type and "rocksync": the oldest version, and the newest.
  message[9] = static_cast<char>(kNewestProtocol + 1);
  message[10] = static_cast<char>(kNewestProtocol + 2);
  ASSERT_TRUE(IsOk(connection->Send(message, std::chrono::seconds(60))));
  std::string answer;
  ASSERT_TRUE(IsOk(connection->Receive(&answer, std::chrono::seconds(60))));
  EXPECT_EQ(answer[0], static_cast<char>(MessageType::kRefusal));
  for (const char* part : {"versions 4 to 5", "3 to 3", "run releases"}) {
    EXPECT_NE(answer.find(part), std::string::npos) << answer;
  }
  // And goes on with others.
  EXPECT_TRUE(IsOk(a->db()->Put(rocksdb::WriteOptions(), "k", "v")));
}

// b's directory is put back to what it was two openings ago, so no local check
// can tell; a remembers.
class RolledBack : public ReplicationTest {
 protected:
  RolledBack() : a_(NewReplica("a")), b_(NewReplica("b")) {
    const std::string backup = directory_ + "/backup";
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
  EXPECT_TRUE(Mentions(s, "open_copy_as_new_replica"));
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

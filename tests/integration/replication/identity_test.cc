// Who is refused, by name, on both sides.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "rocksdb/comparator.h"
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
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(Mentions(s, "rolled back"));
}

TEST_F(RolledBack, IsVisitedAndRefusedByName) {
  if (!b_->Open()) return;
  ASSERT_TRUE(IsOk(b_->Start()));
  const rocksdb::Status s = a_->replicator()->SyncNow(b_->address());
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "rolled back"));
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

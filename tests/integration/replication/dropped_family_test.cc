// A replicated family that is dropped while a session ships it.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/kept_log.h"

namespace rocksync {
namespace {

// Whether the replica that has the family dials.
class DroppedFamily : public ReplicationTest,
                      public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr int kPairs = 3000;

  // Both have the family, and `a` pairs in it.
  void MakeFamily(TestReplica* a, TestReplica* b) {
    rocksdb::ColumnFamilyOptions options;
    options.disable_auto_compactions = true;  // tables go with the family alone
    ASSERT_TRUE(IsOk(a->db()->CreateColumnFamily(options, "family", &here_)));
    ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily(options, "family", &there_)));
    for (int i = 0; i < kPairs; ++i) {
      ASSERT_TRUE(IsOk(a->db()->Put({}, here_, Numbered("k", i), "value")));
    }
  }
  // `a` reads so slowly that a session takes long.
  void StartSlowly(TestReplica* a, TestReplica* b, uint64_t reads_per_second) {
    ReplicatorOptions options = TestReplica::OnDemand();
    options.progress = [this](const SessionProgress& progress) {
      begun_ = begun_ || !progress.finished;
    };
    ASSERT_TRUE(IsOk(a->Start(options)));
    ASSERT_TRUE(IsOk(b->Start(options)));
    ReplicatorLimits slow;
    slow.index_reads_per_second = reads_per_second;
    ASSERT_TRUE(IsOk(a->replicator()->SetLimits(slow)));
  }

  // Outlives the replicas, whose sessions report to it until they stop.
  std::atomic<bool> begun_{false};
  rocksdb::ColumnFamilyHandle* here_ = nullptr;   // of `a`
  rocksdb::ColumnFamilyHandle* there_ = nullptr;  // of `b`
};

TEST_P(DroppedFamily, EndsTheSessionThatShipsIt) {
  const auto log = std::make_shared<KeptLog>();
  TestReplica::Setting setting = SettingOf("a");
  setting.adjust = [&log](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->info_log = log;
  };
  const auto a = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a->Open());
  const auto b = NewReplica("b");
  MakeFamily(a.get(), b.get());
  a->Put("healthy", "v");
  StartSlowly(a.get(), b.get(), 100);
  TestReplica* const dialer = GetParam() ? a.get() : b.get();
  const TestReplica& dialed = GetParam() ? *b : *a;
  rocksdb::Status status;
  std::thread syncing(
      [&] { status = dialer->replicator()->SyncNow(dialed.address()); });
  EXPECT_TRUE(Eventually([&] { return begun_.load(); }));
  ASSERT_TRUE(IsOk(a->db()->DropColumnFamily(here_)));
  ASSERT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(here_)));
  syncing.join();
  EXPECT_TRUE(status.IsTryAgain() || Mentions(status, "families differ"))
      << status.ToString();
  EXPECT_EQ(log->Count("unreadable"), 0u);
  EXPECT_LT(a->replicator()->stats().pairs_sent, uint64_t{kPairs});

  ASSERT_TRUE(IsOk(b->db()->DropColumnFamily(there_)));
  ASSERT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(there_)));
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits({})));
  EXPECT_TRUE(Eventually(
      [&] { return dialer->replicator()->SyncNow(dialed.address()).ok(); }));
  EXPECT_EQ(b->Scan(), (Contents{{"healthy", "v"}}));
}

// While the other one reads, as fast as its limits allow.
TEST_P(DroppedFamily, EndsTheSessionOfTheSideThatWaits) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  MakeFamily(a.get(), b.get());
  ASSERT_TRUE(IsOk(b->db()->Put({}, there_, "k", "v")));
  ASSERT_TRUE(IsOk(b->db()->Flush({}, there_)));
  std::vector<rocksdb::LiveFileMetaData> tables;
  b->db()->GetLiveFilesMetaData(&tables);
  std::string table;
  for (const auto& file : tables) {
    if (file.column_family_name == "family") table = file.db_path + file.name;
  }
  StartSlowly(a.get(), b.get(), 1);
  TestReplica* const dialer = GetParam() ? a.get() : b.get();
  const TestReplica& dialed = GetParam() ? *b : *a;
  std::thread syncing([&] {
    dialer->replicator()->SyncNow(dialed.address()).PermitUncheckedError();
  });
  EXPECT_TRUE(Eventually([&] { return begun_.load(); }));
  EXPECT_TRUE(std::filesystem::exists(table)) << table;
  ASSERT_TRUE(IsOk(b->db()->DropColumnFamily(there_)));
  ASSERT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(there_)));
  EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(table); }));
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits({})));
  syncing.join();
  EXPECT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(here_)));
}

INSTANTIATE_TEST_SUITE_P(WhoHasItDials, DroppedFamily, ::testing::Bool());

}  // namespace
}  // namespace rocksync

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
                      public ::testing::WithParamInterface<bool> {};

TEST_P(DroppedFamily, EndsTheSessionThatShipsIt) {
  const auto log = std::make_shared<KeptLog>();
  // Outlives the replicas, whose sessions report to it until they stop.
  std::atomic<bool> begun{false};
  TestReplica::Setting setting = SettingOf("a");
  setting.adjust = [&log](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->info_log = log;
  };
  const auto a = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a->Open());
  const auto b = NewReplica("b");
  rocksdb::ColumnFamilyHandle* here = nullptr;
  rocksdb::ColumnFamilyHandle* there = nullptr;
  ASSERT_TRUE(IsOk(a->db()->CreateColumnFamily({}, "family", &here)));
  ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily({}, "family", &there)));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(IsOk(a->db()->Put({}, here, Numbered("k", i), "value")));
  }
  a->Put("healthy", "v");
  ReplicatorOptions options = TestReplica::OnDemand();
  options.progress = [&begun](const SessionProgress& progress) {
    begun = begun || !progress.finished;
  };
  ASSERT_TRUE(IsOk(a->Start(options)));
  ASSERT_TRUE(IsOk(b->Start(options)));
  // The session would take half a minute.
  ReplicatorLimits slow;
  slow.index_reads_per_second = 100;
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits(slow)));
  TestReplica* const dialer = GetParam() ? a.get() : b.get();
  const TestReplica& dialed = GetParam() ? *b : *a;
  rocksdb::Status status;
  std::thread syncing(
      [&] { status = dialer->replicator()->SyncNow(dialed.address()); });
  EXPECT_TRUE(Eventually([&] { return begun.load(); }));
  ASSERT_TRUE(IsOk(a->db()->DropColumnFamily(here)));
  ASSERT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(here)));
  syncing.join();
  EXPECT_TRUE(status.IsTryAgain() || Mentions(status, "families differ"))
      << status.ToString();
  EXPECT_EQ(log->Count("unreadable"), 0u);
  EXPECT_LT(a->replicator()->stats().pairs_sent, 3000u);

  ASSERT_TRUE(IsOk(b->db()->DropColumnFamily(there)));
  ASSERT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(there)));
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits({})));
  EXPECT_TRUE(Eventually(
      [&] { return dialer->replicator()->SyncNow(dialed.address()).ok(); }));
  EXPECT_EQ(b->Scan(), (Contents{{"healthy", "v"}}));
}

// While the other one reads, as fast as its limits allow.
TEST_P(DroppedFamily, EndsTheSessionOfTheSideThatWaits) {
  std::atomic<bool> begun{false};
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  rocksdb::ColumnFamilyHandle* here = nullptr;
  rocksdb::ColumnFamilyHandle* there = nullptr;
  ASSERT_TRUE(IsOk(a->db()->CreateColumnFamily({}, "family", &here)));
  ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily({}, "family", &there)));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(IsOk(a->db()->Put({}, here, Numbered("k", i), "value")));
  }
  ASSERT_TRUE(IsOk(b->db()->Put({}, there, "k", "v")));
  ASSERT_TRUE(IsOk(b->db()->Flush({}, there)));
  std::vector<rocksdb::LiveFileMetaData> tables;
  b->db()->GetLiveFilesMetaData(&tables);
  std::string table;
  for (const auto& file : tables) {
    if (file.column_family_name == "family") table = file.db_path + file.name;
  }
  ReplicatorOptions options = TestReplica::OnDemand();
  options.progress = [&begun](const SessionProgress& progress) {
    begun = begun || !progress.finished;
  };
  ASSERT_TRUE(IsOk(a->Start(options)));
  ASSERT_TRUE(IsOk(b->Start(options)));
  ReplicatorLimits slow;
  slow.index_reads_per_second = 1;
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits(slow)));
  TestReplica* const dialer = GetParam() ? a.get() : b.get();
  const TestReplica& dialed = GetParam() ? *b : *a;
  std::thread syncing([&] {
    dialer->replicator()->SyncNow(dialed.address()).PermitUncheckedError();
  });
  EXPECT_TRUE(Eventually([&] { return begun.load(); }));
  EXPECT_TRUE(std::filesystem::exists(table)) << table;
  ASSERT_TRUE(IsOk(b->db()->DropColumnFamily(there)));
  ASSERT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(there)));
  EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(table); }));
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits({})));
  syncing.join();
  EXPECT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(here)));
}

INSTANTIATE_TEST_SUITE_P(WhoHasItDials, DroppedFamily, ::testing::Bool());

}  // namespace
}  // namespace rocksync

// A foreign write is neither reverted by a scrub or a sync nor left
// behind: it travels.

#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

using rocksdb::Slice;

class ForeignWritesOfReplicas : public ReplicationTest {
 protected:
  void SetUp() override {
    b_ = NewReplica("b");
    a_ = std::make_unique<TestReplica>([this] {
      TestReplica::Setting setting = SettingOf("a");
      setting.adjust = [](rocksdb::Options* options, ReplicatedDBOptions*) {
        options->target_file_size_base = 1024;
        options->compression = rocksdb::kNoCompression;
        rocksdb::BlockBasedTableOptions table;
        table.block_size = 256;
        options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
      };
      return setting;
    }());
    ASSERT_TRUE(a_->Open()) << a_->open_status().ToString();
    ASSERT_TRUE(IsOk(b_->Start()));
    ReplicatorOptions options = TestReplica::OnDemand();
    options.peers = {b_->address()};
    ASSERT_TRUE(IsOk(a_->Start(options)));
    // Two files that overlap, or the compaction would only move one.
    for (int i = 100; i < 1000; i += 2) a_->Put(Numbered("k", i), "ours");
    ASSERT_TRUE(IsOk(a_->db()->Flush({})));
    for (int i = 101; i < 1000; i += 2) a_->Put(Numbered("k", i), "ours");
    ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
    ASSERT_TRUE(IsOk(a_->db()->CompactRange({}, nullptr, nullptr)));
    expected_ = a_->Scan();
  }

  // The scrub first: what it takes for corruption, the sync would revert. Both
  // begin before anybody has noticed.
  void ScrubAndSync() {
    ASSERT_TRUE(IsOk(a_->replicator()->ScrubNow()));
    ASSERT_TRUE(Eventually([this] {
      return a_->db()->GetIndexBuildProgress().done &&
             a_->replicator()->SyncNow(b_->address()).ok();
    }));
    EXPECT_EQ(a_->replicator()->stats().scrub.corruption_found, 0u);
    EXPECT_GT(a_->db()->GetIndexStats().foreign_writes, 0u);
    EXPECT_EQ(a_->Scan(), expected_);
    EXPECT_EQ(b_->Scan(), expected_);
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  Contents expected_;
};

TEST_F(ForeignWritesOfReplicas, Transactions) {
  rocksdb::TransactionDB* wrapped = nullptr;
  ASSERT_TRUE(IsOk(rocksdb::TransactionDB::WrapStackableDB(
      new rocksdb::StackableDB(
          std::shared_ptr<rocksdb::DB>(a_->db(), [](rocksdb::DB*) {})),
      {}, {}, {a_->db()->DefaultColumnFamily()}, &wrapped)));
  const std::unique_ptr<rocksdb::TransactionDB> transactions(wrapped);
  const std::unique_ptr<rocksdb::Transaction> transaction(
      transactions->BeginTransaction({}));
  ASSERT_TRUE(IsOk(transaction->Put("k100", "theirs")));
  ASSERT_TRUE(IsOk(transaction->Put("new", "theirs")));
  ASSERT_TRUE(IsOk(transaction->Delete("k101")));
  ASSERT_TRUE(IsOk(transaction->Commit()));
  expected_["k100"] = expected_["new"] = "theirs";
  expected_.erase("k101");
  ScrubAndSync();
}

TEST_F(ForeignWritesOfReplicas, TheSyncAlone) {
  ASSERT_TRUE(IsOk(a_->db()->GetBaseDB()->Put({}, "k100", "theirs")));
  expected_["k100"] = "theirs";
  // "Equal" is not said of replicas that differ.
  const rocksdb::Status first = a_->replicator()->SyncNow(b_->address());
  EXPECT_TRUE(!first.ok() || b_->Scan() == expected_);
  ScrubAndSync();
}

TEST_F(ForeignWritesOfReplicas, DeletedFiles) {
  const std::string begin = "k200";
  const std::string end = "k900";
  const Slice from(begin);
  const Slice to(end);
  ASSERT_TRUE(IsOk(rocksdb::DeleteFilesInRange(
      a_->db(), a_->db()->DefaultColumnFamily(), &from, &to)));
  const Contents left = a_->Scan();
  ASSERT_LT(left.size(), expected_.size());
  expected_ = left;
  ScrubAndSync();
}

TEST_F(ForeignWritesOfReplicas, IngestedFiles) {
  const std::string path = directory_ / "ingested.sst";
  const rocksdb::Options options;
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_TRUE(IsOk(writer.Open(path)));
  ASSERT_TRUE(IsOk(writer.Put("new", "theirs")));
  ASSERT_TRUE(IsOk(writer.Finish()));
  ASSERT_TRUE(IsOk(a_->db()->GetRootDB()->IngestExternalFile({path}, {})));
  expected_["new"] = "theirs";
  ScrubAndSync();
}

}  // namespace
}  // namespace rocksync

// Close: what keeps it from closing, and what may be called afterwards.

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/iterator.h"
#include "rocksdb/transaction_log.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::Status;

using CloseTest = StoreTest;

TEST_F(CloseTest, ASnapshotOfTheApplicationLeavesTheDatabaseOpen) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  const rocksdb::Snapshot* const held = db_->GetSnapshot();
  const Status refused = db_->Close();
  EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("napshot"), std::string::npos);

  ASSERT_ROCKS_OK(Put("k", "later"));
  ASSERT_ROCKS_OK(db_->SetMembers(1, {db_->Identity().replica_id}));
  ASSERT_ROCKS_OK(db_->Flush({}));
  EXPECT_EQ(Total().count, 1u);
  rocksdb::ReadOptions then;
  then.snapshot = held;
  std::string value;
  ASSERT_ROCKS_OK(db_->Get(then, "k", &value));
  EXPECT_EQ(value, "v");
  db_->ReleaseSnapshot(held);
  CloseAndCheck();
}

TEST_F(CloseTest, AnIteratorOverTheLogLeavesTheDatabaseOpen) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  std::unique_ptr<rocksdb::TransactionLogIterator> log;
  ASSERT_ROCKS_OK(db_->GetUpdatesSince(1, &log));
  ASSERT_ROCKS_OK(db_->CheckClose(/*iterators=*/1));
  EXPECT_TRUE(db_->CheckClose().IsAborted());
  const Status refused = db_->Close();
  EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("iterators are held"), std::string::npos);
  ASSERT_ROCKS_OK(Put("k", "later"));
  while (log->Valid()) log->Next();
  ASSERT_ROCKS_OK(log->status());
  log.reset();
  CloseAndCheck();
}

TEST_F(CloseTest, AnIteratorOfTheApplicationLeavesTheDatabaseOpen) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  std::unique_ptr<rocksdb::Iterator> one(
      db_->NewIterator(rocksdb::ReadOptions()));
  std::vector<rocksdb::Iterator*> raw;
  ASSERT_ROCKS_OK(db_->NewIterators({}, {db_->DefaultColumnFamily()}, &raw));
  std::unique_ptr<rocksdb::Iterator> other(raw[0]);
  Status refused = db_->Close();
  EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("iterators are held"), std::string::npos);
  ASSERT_ROCKS_OK(Put("k", "later"));
  one->SeekToFirst();
  ASSERT_TRUE(one->Valid());
  EXPECT_EQ(one->value().ToString(), "v");
  ASSERT_ROCKS_OK(one->Refresh());
  one->SeekToFirst();
  EXPECT_EQ(one->value().ToString(), "later");
  one.reset();
  refused = db_->Close();
  EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
  other.reset();
  CloseAndCheck();
}

TEST_F(CloseTest, CallsAfterwardsAreRefused) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  ASSERT_ROCKS_OK(db_->Close());
  rocksdb::WriteBatch batch;
  ASSERT_ROCKS_OK(batch.Put("k", "batch"));
  for (const Status& status :
       {Put("k", "again"), db_->Delete({}, "k"), db_->Write({}, &batch),
        db_->SetMembers(1, {db_->Identity().replica_id}),
        db_->CollectTombstones()}) {
    EXPECT_TRUE(status.IsShutdownInProgress()) << status.ToString();
  }
  ASSERT_ROCKS_OK(db_->Close());
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("k"), "v");
}

}  // namespace
}  // namespace rocksync

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

#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 2)
TEST_F(CloseTest, AnIteratorOverSeveralFamiliesLeavesTheDatabaseOpen) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  for (const std::vector<rocksdb::ColumnFamilyHandle*>& families :
       {std::vector{db_->DefaultColumnFamily()},
        std::vector{db_->DefaultColumnFamily(), other}}) {
    auto coalescing = db_->NewCoalescingIterator({}, families);
    EXPECT_TRUE(db_->Close().IsAborted());
    coalescing->SeekToFirst();
    EXPECT_TRUE(coalescing->Valid());
    coalescing.reset();
    auto groups = db_->NewAttributeGroupIterator({}, families);
    EXPECT_TRUE(db_->Close().IsAborted());
    groups->SeekToFirst();
    EXPECT_TRUE(groups->Valid());
    groups.reset();
    ASSERT_ROCKS_OK(db_->CheckClose());
  }
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
  CloseAndCheck();
}
#endif

#ifdef ROCKSYNC_HAS_MULTI_SCAN
TEST_F(CloseTest, AScanOfSeveralRangesLeavesTheDatabaseOpen) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  rocksdb::MultiScanArgs ranges(rocksdb::BytewiseComparator());
  ranges.insert("a", "l");
  ranges.insert("m", "z");
  auto scan = db_->NewMultiScan({}, db_->DefaultColumnFamily(), ranges);
  EXPECT_TRUE(db_->Close().IsAborted());
  int pairs = 0;
  for (auto range : *scan) {
    for (const auto& pair : range) pairs += pair.first == "k" ? 1 : 0;
  }
  EXPECT_EQ(pairs, 1);
  scan.reset();
  CloseAndCheck();
}
#endif

// As RocksDB says it; but that ends the process at some of these.
TEST_F(CloseTest, ANullHandleIsRefused) {
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* const null = nullptr;
  uint64_t deleted = 0;
  for (const Status& status :
       {db_->Put({}, null, "k", "v"), db_->Delete({}, null, "k"),
        db_->SingleDelete({}, null, "k"), db_->Merge({}, null, "k", "v"),
        db_->DeleteRange({}, null, "a", "z"),
        db_->DeleteRangeInChunks({}, null, "a", "z", &deleted),
        db_->PutEntity({}, null, "k", rocksdb::WideColumns{{"a", "b"}}),
        db_->IngestExternalFile(null, {"f"}, {}), db_->DropColumnFamily(null),
        db_->CompactRange({}, null, nullptr, nullptr), db_->Flush({}, null),
        db_->SuggestCompactRange(null, nullptr, nullptr),
        db_->PromoteL0(null, 1),
        db_->EnableAutoCompaction({db_->DefaultColumnFamily(), null}),
        db_->Update({}, null, "k", [](std::optional<std::string>*) {
          return Status::OK();
        })}) {
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find("null"), std::string::npos)
        << status.ToString();
  }
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

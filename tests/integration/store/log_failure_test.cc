// A write to RocksDB's log that failed: RocksDB's writer of that file is not to
// be used again, and where RocksDB is built with assertions, as Debian's is,
// syncing it ends the process.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "tests/integration/store/trouble_fixture.h"

namespace rocksync {
namespace {

class LogFailureTest : public TroubleTest {
 protected:
  void SetUp() override {
    TroubleTest::SetUp();
    OpenWithView();
    ASSERT_ROCKS_OK(Put("before", "1"));
    ASSERT_TRUE(view_->Sync().ok());
  }

  // Of everything that writes or syncs.
  void ExpectErrors(const std::string& text) {
    const auto expect = [&](const std::string& said) {
      EXPECT_NE(said.find(text), std::string::npos) << said;
    };
    expect(Put("refused", "2").ToString());
    expect(std::string(view_->Sync().message()));
    expect(db_->SyncWAL().ToString());
    expect(db_->FlushWAL(/*sync=*/true).ToString());
    expect(db_->FlushWAL(/*sync=*/false).ToString());
    expect(db_->Flush(rocksdb::FlushOptions()).ToString());
    expect(db_->SetMembers(1, {db_->Identity().replica_id}).ToString());
    EXPECT_EQ(Get("before"), "1");
    EXPECT_EQ(Get("refused"), "-");
    expect(db_->GetDiskSpaceStats().write_error);
  }
  void ExpectThatItGoesOn() {
    EXPECT_EQ(db_->GetDiskSpaceStats().write_error, "");
    ASSERT_ROCKS_OK(Put("after", "3"));
    EXPECT_TRUE(view_->Sync().ok());
    EXPECT_ROCKS_OK(db_->SyncWAL());
    EXPECT_ROCKS_OK(db_->Flush(rocksdb::FlushOptions()));
    view_.reset();
    CloseAndCheck();
    OpenWithView();
    EXPECT_EQ(Get("before"), "1");
    EXPECT_EQ(Get("after"), "3");
    EXPECT_EQ(Get("refused"), "-");
  }
};

TEST_F(LogFailureTest, IsAnErrorUntilOpenedAgain) {
  *disk_.state = DiskState::kNoLog;
  EXPECT_TRUE(Put("refused", "2").IsIOError());
  *disk_.state = DiskState::kGood;
  ExpectErrors("Input/output error");
  EXPECT_FALSE(db_->Resume().ok());
  ExpectErrors("Input/output error");
  EXPECT_FALSE(db_->Close().ok()) << "the seal cannot be written";
  OpenWithView();
  ExpectThatItGoesOn();
}

// RocksDB syncs earlier files of the log within a flush.
TEST_F(LogFailureTest, OfASyncWithinAFlushIsAnErrorUntilOpenedAgain) {
  ASSERT_ROCKS_OK(Put("unsynced", "2"));
  *disk_.state = DiskState::kNoLogSync;
  EXPECT_TRUE(db_->Flush(rocksdb::FlushOptions()).IsIOError());
  *disk_.state = DiskState::kGood;
  ExpectErrors("Input/output error");
  EXPECT_FALSE(db_->Close().ok()) << "the seal cannot be written";
  OpenWithView();
  EXPECT_EQ(Get("unsynced"), "2");
  ExpectThatItGoesOn();
}

TEST_F(LogFailureTest, WithoutSpaceIsAnErrorUntilThereIsSome) {
  *disk_.state = DiskState::kFull;
  EXPECT_TRUE(Put("refused", "2").IsNoSpace());
  ExpectErrors("No space left on device");
  *disk_.state = DiskState::kGood;
  EXPECT_TRUE(Eventually([&] { return Put("again", "2").ok(); }));
  ExpectThatItGoesOn();
}

// The family is there, and what is recorded of it is not. To drop it would fail
// during RocksDB's recovery, which an assertion of RocksDB's forbids.
TEST_F(LogFailureTest, AFamilyThatCouldNotBeRecordedIsMadeByTheNextTry) {
  *disk_.state = DiskState::kFillsUpWithTheLog;
  rocksdb::ColumnFamilyHandle* family = nullptr;
  const rocksdb::Status full = db_->CreateColumnFamily({}, "second", &family);
  EXPECT_TRUE(full.IsNoSpace()) << full.ToString();
  EXPECT_EQ(family, nullptr);
  EXPECT_EQ(db_->ReplicatedFamilies(), std::vector<std::string>{"default"});
  *disk_.state = DiskState::kGood;
  EXPECT_TRUE(Eventually(
      [&] { return db_->CreateColumnFamily({}, "second", &family).ok(); }));
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(db_->ReplicatedFamilies(),
            (std::vector<std::string>{"default", "second"}));
  ASSERT_ROCKS_OK(db_->Put({}, family, "in it", "4"));
  ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60'000));  // the purge
  ExpectThatItGoesOn();
}

// The write of the record is an error, and reaches the disk all the same.
TEST_F(LogFailureTest, AFamilyThatMayHaveBeenRecordedMayBeAbsent) {
  std::vector<rocksdb::ColumnFamilyHandle*> families(1);
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "second", &families[0]));
  std::string before;
  const std::string key = MetaKey(kFamiliesRecord);
  rocksdb::DB* const db = indexed()->db();
  rocksdb::ColumnFamilyHandle* const index = indexed()->reader().index();
  ASSERT_ROCKS_OK(db->Get({}, index, key, &before));
  std::vector<FamilyRecord> records;
  ASSERT_TRUE(Decode(before, &records));
  EXPECT_FALSE(records.back().may_be_absent) << "once it is recorded";
  ASSERT_ROCKS_OK(db_->DropColumnFamily(families[0]));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(families[0]));
  records.back().may_be_absent = true;
  ASSERT_ROCKS_OK(db->Put({}, index, key, Encode(records)));
  OpenWithView();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60'000));  // the purge
  ExpectThatItGoesOn();
}

// Then RocksDB recovers without a new log.
TEST_F(LogFailureTest, WithNothingToFlushIsAnErrorUntilOpenedAgain) {
  // Without the lease's thread, which would write something.
  view_.reset();
  db_.reset();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ReplicatedDB* raw = nullptr;
  ASSERT_ROCKS_OK(
      StoreAccess::Open(options_, replication_, Dir(),
                        {{rocksdb::kDefaultColumnFamilyName, options_}},
                        &handles, Timers::kCaller, &raw));
  db_.reset(raw);
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handles[0]));
  view_ = StoreAccess::NewView(raw);
  rocksdb::DB* const db = indexed()->db();
  for (auto* family :
       {db->DefaultColumnFamily(), indexed()->reader().index()}) {
    ASSERT_ROCKS_OK(db->Flush(rocksdb::FlushOptions(), family));
  }
  *disk_.state = DiskState::kFull;
  EXPECT_TRUE(db->Put({}, "refused", "2").IsNoSpace());
  *disk_.state = DiskState::kGood;
  // Nothing but the recovery's end changes the error.
  EXPECT_TRUE(Eventually([&] { return !db_->SyncWAL().IsNoSpace(); }));
  if (db_->SyncWAL().ok()) {
    // Newer versions (seen: 9.7.4) begin a new log all the same.
    ExpectThatItGoesOn();
    return;
  }
  ExpectErrors("close the database and open it again");
  EXPECT_FALSE(db_->Close().ok());
  OpenWithView();
  ExpectThatItGoesOn();
}

}  // namespace
}  // namespace rocksync

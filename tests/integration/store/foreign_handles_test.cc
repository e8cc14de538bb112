// Handles of column families that belong to another database, whose number may
// be that of any family here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

class ForeignHandlesTest : public StoreTest {
 protected:
  // The other database was a plain one with a family, so that the number of
  // this family is that of the index here.
  void OpenBoth() {
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(Put("kept", "1"));
    Plain("other", [](rocksdb::DB* plain) {
      rocksdb::ColumnFamilyHandle* handle = nullptr;
      ASSERT_ROCKS_OK(plain->CreateColumnFamily({}, "fam", &handle));
      ASSERT_ROCKS_OK(plain->DestroyColumnFamilyHandle(handle));
    });
    ReplicatedDB* raw = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_ROCKS_OK(ReplicatedDB::Open(options_, replication_, Dir("other"),
                                       {{"default", {}}, {"fam", {}}}, &handles,
                                       &raw));
    other_.reset(raw);
    ASSERT_ROCKS_OK(other_->DestroyColumnFamilyHandle(handles[0]));
    foreign_ = handles[1];
  }
  void TearDown() override {
    if (other_ != nullptr) {
      EXPECT_ROCKS_OK(other_->DestroyColumnFamilyHandle(foreign_));
    }
    other_.reset();
    StoreTest::TearDown();
  }

  std::unique_ptr<ReplicatedDB> other_;
  rocksdb::ColumnFamilyHandle* foreign_ = nullptr;
};

TEST_F(ForeignHandlesTest, DropNothingHere) {
  ASSERT_NO_FATAL_FAILURE(OpenBoth());
  const rocksdb::Status status = db_->DropColumnFamily(foreign_);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find("another database"), std::string::npos);
  EXPECT_FALSE(db_->DropColumnFamilies({foreign_}).ok());
  EXPECT_FALSE(db_->DropColumnFamily(other_->DefaultColumnFamily()).ok());

  ASSERT_ROCKS_OK(Put("after", "2"));
  ASSERT_ROCKS_OK(other_->Put({}, foreign_, "theirs", "3"));
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("kept"), "1");
  EXPECT_EQ(Get("after"), "2");
  CloseAndCheck();
}

TEST_F(ForeignHandlesTest, WriteNothingHere) {
  ASSERT_NO_FATAL_FAILURE(OpenBoth());
  rocksdb::ColumnFamilyHandle* own = nullptr;
  rocksdb::ColumnFamilyHandle* first = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "first", &first));
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "own", &own));
  rocksdb::ColumnFamilyHandle* others = nullptr;  // of the same number
  ASSERT_ROCKS_OK(other_->CreateColumnFamily({}, "theirs", &others));
  ASSERT_EQ(own->GetID(), others->GetID());
  ASSERT_ROCKS_OK(db_->Put({}, own, "k", "own"));

  for (rocksdb::ColumnFamilyHandle* handle :
       {others, foreign_, other_->DefaultColumnFamily()}) {
    SCOPED_TRACE(handle->GetName());
    EXPECT_TRUE(db_->Put({}, handle, "k", "1").IsInvalidArgument());
    EXPECT_TRUE(db_->Delete({}, handle, "k").IsInvalidArgument());
    EXPECT_TRUE(db_->SingleDelete({}, handle, "k").IsInvalidArgument());
    EXPECT_TRUE(db_->DeleteRange({}, handle, "a", "z").IsInvalidArgument());
    EXPECT_TRUE(db_->Merge({}, handle, "k", "1").IsInvalidArgument());
    EXPECT_TRUE(db_->Flush({}, handle).IsInvalidArgument());
    EXPECT_TRUE(
        db_->CompactRange({}, handle, nullptr, nullptr).IsInvalidArgument());
    EXPECT_TRUE(
        db_->SuggestCompactRange(handle, nullptr, nullptr).IsInvalidArgument());
    EXPECT_TRUE(db_->PromoteL0(handle, 2).IsInvalidArgument());
    EXPECT_NE(db_->IncreaseFullHistoryTsLow(handle, "12345678")
                  .ToString()
                  .find("its handle is of another database"),
              std::string::npos);
    EXPECT_TRUE(db_->EnableAutoCompaction({handle}).IsInvalidArgument());
    EXPECT_TRUE(db_->CompactFiles({}, handle, {}, 1, -1, nullptr, nullptr)
                    .IsInvalidArgument());
    EXPECT_TRUE(db_->Update({}, handle, "k",
                            [](std::optional<std::string>*) {
                              return rocksdb::Status::OK();
                            })
                    .IsInvalidArgument());
  }
  // A plain one is RocksDB's to give back, as always.
  EXPECT_TRUE(db_->DestroyColumnFamilyHandle(others).IsInvalidArgument());
  std::string value;
  ASSERT_ROCKS_OK(db_->Get({}, own, "k", &value));
  EXPECT_EQ(value, "own");
  ASSERT_ROCKS_OK(other_->DestroyColumnFamilyHandle(others));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(own));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(first));
}

}  // namespace
}  // namespace rocksync

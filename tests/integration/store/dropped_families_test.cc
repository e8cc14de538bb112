// What RocksDB has of a family goes when the family is dropped and its handle
// is given back, as with RocksDB alone: tables, memtables, and what these take
// of a write buffer budget.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/write_buffer_manager.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/eventually.h"

namespace rocksync {
namespace {

class DroppedFamiliesTest : public StoreTest,
                            public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr size_t kMemtable = size_t{1} << 20;

  void SetUp() override {
    StoreTest::SetUp();
    budget_ = std::make_shared<rocksdb::WriteBufferManager>(size_t{64} << 20);
    options_.write_buffer_manager = budget_;
    if (!Replicated()) replication_.families = {"default"};
    ASSERT_ROCKS_OK(Open());
    before_ = budget_->memory_usage();
  }
  static bool Replicated() { return GetParam(); }

  // A family with a table and a memtable of `kMemtable`.
  rocksdb::ColumnFamilyHandle* NewFamily(const std::string& name) {
    rocksdb::ColumnFamilyHandle* family = nullptr;
    EXPECT_ROCKS_OK(db_->CreateColumnFamily({}, name, &family));
    EXPECT_ROCKS_OK(db_->Put({}, family, "in a table", "v"));
    EXPECT_ROCKS_OK(db_->Flush({}, family));
    EXPECT_ROCKS_OK(
        db_->Put({}, family, "in memory", std::string(kMemtable, 'v')));
    EXPECT_TRUE(IsThere());
    return family;
  }
  bool IsThere() const { return budget_->memory_usage() > before_ + kMemtable; }
  size_t Tables() const {
    size_t tables = 0;
    for (const auto& file : std::filesystem::directory_iterator(Dir())) {
      if (file.path().extension() == ".sst") ++tables;
    }
    return tables;
  }

  std::shared_ptr<rocksdb::WriteBufferManager> budget_;
  size_t before_ = 0;
};

TEST_P(DroppedFamiliesTest, GoWithTheirHandles) {
  const size_t tables = Tables();
  for (int i = 0; i < 3; ++i) {
    rocksdb::ColumnFamilyHandle* const family = NewFamily("family");
    ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
    // As in RocksDB, what was dropped is read as long as there is a handle.
    std::string value;
    EXPECT_ROCKS_OK(db_->Get({}, family, "in a table", &value));
    EXPECT_TRUE(IsThere());
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
    EXPECT_TRUE(Eventually([&] { return !IsThere(); }));
  }
  EXPECT_TRUE(Eventually([&] { return Tables() <= tables + 1; }))
      << "but for one of the index";
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60'000));
  CloseAndCheck();
}

TEST_P(DroppedFamiliesTest, StayForThoseThatReadThem) {
  rocksdb::ColumnFamilyHandle* const family = NewFamily("family");
  const auto view = StoreAccess::NewView(db_.get());
  auto snapshot = *view->TakeSnapshot({});
  IndexEntry entry;
  if (Replicated()) {
    entry = **snapshot->FindKey(*view->OrdinalOf(family->GetID()), "in memory");
    EXPECT_TRUE(snapshot->ReadValue(entry).ok());
  }
  ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  if (Replicated()) {
    StoreAccess::IndexedOf(db_.get())->shown_families()->FreeUnused();
    EXPECT_TRUE(IsThere()) << "a session may read it";
    EXPECT_TRUE(absl::IsUnavailable(snapshot->ReadValue(entry).status()))
        << "which ends then";
    EXPECT_TRUE(
        absl::IsUnavailable(snapshot->NewValueReader(1)->Read(entry).status()));
    snapshot.reset();
  }
  EXPECT_TRUE(Eventually([&] { return !IsThere(); }))
      << "a view alone keeps nothing";
}

TEST_P(DroppedFamiliesTest, AScanMeanwhileLetsGoAtItsEnd) {
  rocksdb::ColumnFamilyHandle* const family = NewFamily("family");
  FamiliesInUse in_use = StoreAccess::IndexedOf(db_.get())->families();
  ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  StoreAccess::IndexedOf(db_.get())->shown_families()->FreeUnused();
  EXPECT_TRUE(IsThere());
  in_use = {};
  EXPECT_TRUE(Eventually([&] { return !IsThere(); }))
      << "the index build frees it";
}

INSTANTIATE_TEST_SUITE_P(ReplicatedOrNot, DroppedFamiliesTest,
                         ::testing::Bool());

}  // namespace
}  // namespace rocksync

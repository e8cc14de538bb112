// RocksDB's OPTIONS files of a replicated database can be loaded, compared and
// opened with.

#include "rocksync/options_file.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/utilities/options_util.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::ConfigOptions;
using rocksdb::DBOptions;

ConfigOptions Strict() {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  return config;
}

class OptionsFileTest : public StoreTest {
 protected:
  // A database with a family older than the index, and one that is younger.
  void Make() {
    options_.write_buffer_size = 1 << 20;
    ASSERT_ROCKS_OK(Open());
    rocksdb::ColumnFamilyOptions young;
    young.write_buffer_size = 2 << 20;
    ColumnFamilyHandle* handle = nullptr;
    ASSERT_ROCKS_OK(db_->CreateColumnFamily(young, "young", &handle));
    ASSERT_ROCKS_OK(Put("k", "v"));
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
    db_.reset();
  }
  static std::vector<std::string> Names(
      const std::vector<ColumnFamilyDescriptor>& families) {
    std::vector<std::string> names;
    for (const auto& family : families) names.push_back(family.name);
    return names;
  }
  rocksdb::Status OpenWith(const DBOptions& options,
                           const std::vector<ColumnFamilyDescriptor>& families,
                           std::vector<ColumnFamilyHandle*>* handles) {
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status = ReplicatedDB::Open(
        options, replication_, Dir(), families, handles, &raw);
    db_.reset(raw);
    return status;
  }
};

TEST_F(OptionsFileTest, LoadLeavesTheIndexOut) {
  Make();
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_ROCKS_OK(LoadReplicatedOptions(Strict(), Dir(), &options, &families));
  EXPECT_EQ(Names(families), (std::vector<std::string>{"default", "young"}));
  EXPECT_EQ(families[1].options.write_buffer_size, size_t{2} << 20);
  std::vector<ColumnFamilyHandle*> handles;
  ASSERT_ROCKS_OK(OpenWith(options, families, &handles));
  EXPECT_EQ(Get("k"), "v");
  for (auto* handle : handles) {
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
  }
  CloseAndCheck();
}

TEST_F(OptionsFileTest, OpenTakesWhatRocksDBLoads) {
  Make();
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_ROCKS_OK(
      rocksdb::LoadLatestOptions(Strict(), Dir(), &options, &families));
  ASSERT_EQ(Names(families),
            (std::vector<std::string>{"default", kIndexFamilyName, "young"}));
  std::vector<ColumnFamilyHandle*> handles;
  ASSERT_ROCKS_OK(OpenWith(options, families, &handles));
  ASSERT_EQ(handles.size(), 3u);
  EXPECT_EQ(handles[0]->GetName(), "default");
  EXPECT_EQ(handles[1], nullptr);
  EXPECT_EQ(handles[2]->GetName(), "young");
  EXPECT_EQ(db_->ReplicatedFamilies(),
            (std::vector<std::string>{"default", "young"}));
  ASSERT_ROCKS_OK(Put("another", "v"));
  for (auto* handle : handles) {
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
  }
  // The index works as always: its flush completes hashes.
  CloseAndCheck();
}

TEST_F(OptionsFileTest, CompatibilityIsOfTheApplicationsFamilies) {
  Make();
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_ROCKS_OK(LoadReplicatedOptions(Strict(), Dir(), &options, &families));
  EXPECT_ROCKS_OK(CheckReplicatedOptions(Strict(), Dir(), options, families));

  std::vector<ColumnFamilyDescriptor> other = families;
  other[1].options.comparator = rocksdb::ReverseBytewiseComparator();
  EXPECT_TRUE(CheckReplicatedOptions(Strict(), Dir(), options, other)
                  .IsInvalidArgument());
  other = families;
  other.pop_back();
  EXPECT_TRUE(CheckReplicatedOptions(Strict(), Dir(), options, other)
                  .IsInvalidArgument());
  other.clear();
  EXPECT_TRUE(CheckReplicatedOptions(Strict(), Dir(), options, other)
                  .IsInvalidArgument());
}

TEST_F(OptionsFileTest, OfAPlainDatabase) {
  Plain("plain", [](rocksdb::DB*) {});
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  ASSERT_ROCKS_OK(
      LoadReplicatedOptions(Strict(), Dir("plain"), &options, &families));
  EXPECT_EQ(Names(families), std::vector<std::string>{"default"});
  EXPECT_ROCKS_OK(
      CheckReplicatedOptions(Strict(), Dir("plain"), options, families));
  EXPECT_TRUE(
      LoadReplicatedOptions(Strict(), Dir("nothing"), &options, &families)
          .IsPathNotFound());
}

}  // namespace
}  // namespace rocksync

// SST files with filters of other policies, of other formats and of damaged
// bytes; sizes by level; memory charged while building.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "plugin/filter_interface.h"
#include "plugin/policy.h"
#include "rocksdb/cache.h"
#if __has_include("rocksdb/advanced_cache.h")  // the class, since 8.0
#include "rocksdb/advanced_cache.h"
#endif
#include "rocksdb/sst_file_writer.h"
#include "rocksync/filter_policy.h"
#include "tests/integration/plugin/filter_db.h"

namespace rocksync {
namespace {

constexpr uint64_t kKeys = 10'000;

rocksdb::BlockBasedTableOptions Table(
    std::shared_ptr<const rocksdb::FilterPolicy> policy) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = std::move(policy);
  return table;
}

// Puts the even numbers and flushes them to one file.
void Fill(FilterDb* db) {
  db->Open();
  for (uint64_t i = 0; i < 2 * kKeys; i += 2) {
    FilterDb::ExpectOk(db->db->Put({}, Key(i), "v"));
  }
  FilterDb::ExpectOk(db->db->Flush({}));
}

// Reads all numbers; gives how many absent ones a filter refused.
uint64_t ReadAll(FilterDb* db) {
  const uint64_t before = db->Ticker(rocksdb::BLOOM_FILTER_USEFUL);
  std::string value;
  for (uint64_t i = 0; i < 2 * kKeys; ++i) {
    EXPECT_EQ(db->db->Get({}, Key(i), &value).ok(), i % 2 == 0) << i;
  }
  return db->Ticker(rocksdb::BLOOM_FILTER_USEFUL) - before;
}

std::shared_ptr<const rocksdb::FilterPolicy> BuiltIn() {
  return std::shared_ptr<const rocksdb::FilterPolicy>(
      rocksdb::NewBloomFilterPolicy(10));
}

TEST(SwitchingTest, FromBuiltInToOursAndBackAndToNone) {
  FilterDb db(Table(BuiltIn()));
  Fill(&db);
  EXPECT_GT(ReadAll(&db), kKeys * 9 / 10);
  const auto ours = NewFilterPolicy(10);
  for (const auto& policy :
       {ours, BuiltIn(), ours, decltype(ours)(nullptr), ours}) {
    db.db.reset();
    db.SetTable(Table(policy));
    db.Open();
    // The files at hand carry the other policy's filters or none.
    EXPECT_EQ(ReadAll(&db), 0u);
    rocksdb::CompactRangeOptions force;
    force.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    FilterDb::ExpectOk(db.db->CompactRange(force, nullptr, nullptr));
    if (policy != nullptr) {
      EXPECT_GT(ReadAll(&db), kKeys * 9 / 10);
    }
  }
}

// Writes our filters with one byte changed afterwards: a stand-in for a newer
// format and for damage that RocksDB's checksum does not see.
class ChangedByteBuilder : public rocksdb::FilterBitsBuilder {
 public:
  ChangedByteBuilder(rocksdb::FilterBitsBuilder* builder, size_t from_end)
      : builder_(builder), from_end_(from_end) {}
  void AddKey(const rocksdb::Slice& key) override { builder_->AddKey(key); }
#if ROCKSYNC_FILTER_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const rocksdb::Slice& key,
                    const rocksdb::Slice& alt) override {
    builder_->AddKeyAndAlt(key, alt);
  }
#endif
  size_t EstimateEntriesAdded() override {
    return builder_->EstimateEntriesAdded();
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
    return Finish(buf, nullptr);
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf,
                        rocksdb::Status* status) override {
    const rocksdb::Slice filter = builder_->Finish(buf, status);
    const_cast<char*>(filter.data())[filter.size() - from_end_] ^= 1;
    return filter;
  }
  rocksdb::Status MaybePostVerify(const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  size_t ApproximateNumEntries(size_t bytes) override {
    return builder_->ApproximateNumEntries(bytes);
  }
#if ROCKSYNC_FILTER_HAS_CALCULATE_SPACE
  size_t CalculateSpace(size_t entries) override {
    return builder_->CalculateSpace(entries);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override {
    return builder_->EstimatedFpRate(entries, bytes);
  }
#endif

 private:
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder_;
  const size_t from_end_;
};

class ChangedBytePolicy : public rocksdb::FilterPolicy {
 public:
  explicit ChangedBytePolicy(size_t from_end)
      : policy_(NewUniqueFilterPolicy(FilterPolicyOptions())),
        from_end_(from_end) {}
  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return new ChangedByteBuilder(policy_->GetBuilderWithContext(context),
                                  from_end_);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override {
    return policy_->GetFilterBitsReader(contents);
  }

 private:
  const std::unique_ptr<const rocksdb::FilterPolicy> policy_;
  const size_t from_end_;
};

TEST(UnusableFilterTest, ReadsGoOnWithoutItAndItIsCounted) {
  for (const size_t from_end : {1, 8, 24}) {  // version, checksum, seed
    FilterDb db(Table(std::make_shared<ChangedBytePolicy>(from_end)));
    Fill(&db);
    db.db.reset();
    db.SetTable(Table(NewFilterPolicy(10)));
    const uint64_t before = GetFilterPolicyCounters().unusable_filters;
    db.Open();
    EXPECT_EQ(ReadAll(&db), 0u);
    EXPECT_GT(GetFilterPolicyCounters().unusable_filters, before);
  }
}

TEST(SstFileWriterTest, FilesAreIngestedWithTheirFilters) {
  FilterDb db(Table(NewFilterPolicy(10)));
  db.Open();
  const std::string file = db.directory.path() + "/file.sst";
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), db.options);
  FilterDb::ExpectOk(writer.Open(file));
  for (uint64_t i = 0; i < 2 * kKeys; i += 2) {
    FilterDb::ExpectOk(writer.Put(Key(i), "v"));
  }
  FilterDb::ExpectOk(writer.Finish());
  FilterDb::ExpectOk(db.db->IngestExternalFile({file}, {}));
  EXPECT_GT(ReadAll(&db), kKeys * 9 / 10);
}

TEST(TickersTest, CountWhatTheFilterDid) {
  FilterDb db(Table(NewFilterPolicy(10)));
  Fill(&db);
  const uint64_t useful = ReadAll(&db);
  const uint64_t positive = db.Ticker(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  const uint64_t true_positive =
      db.Ticker(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  EXPECT_EQ(true_positive, kKeys);
  EXPECT_EQ(useful + positive, 2 * kKeys);
}

class LevelAwareDbTest : public testing::Test {
 protected:
  explicit LevelAwareDbTest(bool level_aware = true)
      : db_(Table(NewFilterPolicy({10, level_aware, 10}))) {
    db_.options.disable_auto_compactions = true;
  }

  // Bits per key of the newest file.
  double NewestBits() {
    rocksdb::TablePropertiesCollection all;
    FilterDb::ExpectOk(db_.db->GetPropertiesOfAllTables(&all));
    std::string newest;
    for (const auto& [name, properties] : all) newest = std::max(newest, name);
    return static_cast<double>(all[newest]->filter_size) * 8 /
           static_cast<double>(all[newest]->num_entries);
  }

  std::vector<std::string> FilesAtLevel(int level) {
    rocksdb::ColumnFamilyMetaData meta;
    db_.db->GetColumnFamilyMetaData(&meta);
    std::vector<std::string> names;
    for (const auto& file : meta.levels[level].files) {
      names.push_back(file.name);
    }
    return names;
  }

  FilterDb db_;
};

TEST_F(LevelAwareDbTest, UpperLevelsGetMoreBits) {
  const double step = std::log(10.) / (std::log(2.) * std::log(2.));
  Fill(&db_);
  EXPECT_NEAR(NewestBits(), 10 - 0.12 * step + 2 * step, 0.1);
  FilterDb::ExpectOk(
      db_.db->CompactFiles({}, FilesAtLevel(0), /*output_level=*/3));
  EXPECT_NEAR(NewestBits(), 10 - 0.12 * step, 0.1);
  Fill(&db_);
  FilterDb::ExpectOk(
      db_.db->CompactFiles({}, FilesAtLevel(0), /*output_level=*/2));
  EXPECT_NEAR(NewestBits(), 10 - 0.12 * step + step, 0.1);
  EXPECT_GT(ReadAll(&db_), kKeys);
}

class UniformDbTest : public LevelAwareDbTest {
 protected:
  UniformDbTest() : LevelAwareDbTest(false) {}
};

TEST_F(UniformDbTest, AllLevelsGetTheSame) {
  Fill(&db_);
  EXPECT_NEAR(NewestBits(), 10, 0.1);
  FilterDb::ExpectOk(
      db_.db->CompactFiles({}, FilesAtLevel(0), /*output_level=*/3));
  EXPECT_NEAR(NewestBits(), 10, 0.1);
}

class ConstructionChargeTest : public testing::TestWithParam<bool> {};

TEST_P(ConstructionChargeTest, IsInTheCacheWhileBuilding) {
  constexpr size_t kMany = 1'000'000;
  rocksdb::BlockBasedTableOptions table = Table(NewFilterPolicy(10));
  table.block_cache = rocksdb::NewLRUCache(64 << 20);
  table.cache_usage_options
      .options_overrides[rocksdb::CacheEntryRole::kFilterConstruction] = {
      GetParam() ? rocksdb::CacheEntryRoleOptions::Decision::kEnabled
                 : rocksdb::CacheEntryRoleOptions::Decision::kDisabled};
  const rocksdb::FilterBuildingContext context(table);
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
      table.filter_policy->GetBuilderWithContext(context));
  const size_t before = table.block_cache->GetUsage();
  for (uint64_t i = 0; i < kMany; ++i) builder->AddKey(Key(i));
  const size_t grown = table.block_cache->GetUsage() - before;
  if (GetParam()) {
    EXPECT_GE(grown, 7 * kMany);
    EXPECT_LE(grown, 8 * kMany);
  } else {
    EXPECT_EQ(grown, 0u);
  }
  std::unique_ptr<const char[]> owned;
  EXPECT_NEAR(static_cast<double>(builder->Finish(&owned).size()),
              kMany * 10 / 8, 200);
  builder.reset();
  EXPECT_EQ(table.block_cache->GetUsage(), before);
}

INSTANTIATE_TEST_SUITE_P(OnAndOff, ConstructionChargeTest, testing::Bool());

TEST(DetectCorruptionTest, SoundMemoryPasses) {
  rocksdb::BlockBasedTableOptions table = Table(NewFilterPolicy(10));
  table.detect_filter_construct_corruption = true;
  FilterDb db(table);
  Fill(&db);
  FilterDb::ExpectOk(db.db->CompactRange({}, nullptr, nullptr));
  EXPECT_GT(ReadAll(&db), kKeys * 9 / 10);
}

}  // namespace
}  // namespace rocksync

// The virtual functions of the filter interface, as declared in
// plugin/filter_interface.h, are those that the installed RocksDB calls: a
// policy that records the calls is used by a real database.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/filter_interface.h"
#include "plugin/policy.h"
#include "tests/integration/plugin/filter_db.h"

namespace rocksync {
namespace {

class Calls {
 public:
  void Count(const std::string& function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[function];
  }
  size_t operator[](const std::string& function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_[function];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, size_t> counts_;
};

class RecordingBuilder : public rocksdb::FilterBitsBuilder {
 public:
  RecordingBuilder(rocksdb::FilterBitsBuilder* builder, Calls* calls)
      : builder_(builder), calls_(calls) {}
  ~RecordingBuilder() override { calls_->Count("~FilterBitsBuilder"); }
  void AddKey(const rocksdb::Slice& key) override {
    // 16 bytes of our keys: a wrong slot would hand over something else.
    EXPECT_EQ(key.size(), 16u);
    calls_->Count("AddKey");
    builder_->AddKey(key);
  }
#if ROCKSYNC_FILTER_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const rocksdb::Slice& key,
                    const rocksdb::Slice& alt) override {
    calls_->Count("AddKeyAndAlt");
    builder_->AddKeyAndAlt(key, alt);
  }
#endif
  size_t EstimateEntriesAdded() override {
    calls_->Count("EstimateEntriesAdded");
    return builder_->EstimateEntriesAdded();
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
    calls_->Count("Finish");
    return builder_->Finish(buf);
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf,
                        rocksdb::Status* status) override {
    calls_->Count("Finish with status");
    return builder_->Finish(buf, status);
  }
  rocksdb::Status MaybePostVerify(const rocksdb::Slice& filter) override {
    EXPECT_GT(filter.size(), 24u);
    calls_->Count("MaybePostVerify");
    return builder_->MaybePostVerify(filter);
  }
  size_t ApproximateNumEntries(size_t bytes) override {
    EXPECT_GT(bytes, 0u);
    calls_->Count("ApproximateNumEntries");
    return builder_->ApproximateNumEntries(bytes);
  }
#if ROCKSYNC_FILTER_HAS_CALCULATE_SPACE
  size_t CalculateSpace(size_t entries) override {
    calls_->Count("CalculateSpace");
    return builder_->CalculateSpace(entries);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override {
    calls_->Count("EstimatedFpRate");
    return builder_->EstimatedFpRate(entries, bytes);
  }
#endif

 private:
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder_;
  Calls* const calls_;
};

class RecordingReader : public rocksdb::FilterBitsReader {
 public:
  RecordingReader(rocksdb::FilterBitsReader* reader, Calls* calls)
      : reader_(reader), calls_(calls) {}
  ~RecordingReader() override { calls_->Count("~FilterBitsReader"); }
  bool MayMatch(const rocksdb::Slice& key) override {
    EXPECT_EQ(key.size(), 16u);
    calls_->Count("MayMatch");
    return reader_->MayMatch(key);
  }
  void MayMatch(int count, rocksdb::Slice** keys, bool* may_match) override {
    EXPECT_GE(count, 1);
    EXPECT_LE(count, 32);
    calls_->Count("MayMatch batch");
    reader_->MayMatch(count, keys, may_match);
  }

 private:
  const std::unique_ptr<rocksdb::FilterBitsReader> reader_;
  Calls* const calls_;
};

class RecordingPolicy : public rocksdb::FilterPolicy {
 public:
  explicit RecordingPolicy(Calls* calls)
      : policy_(NewUniqueFilterPolicy(FilterPolicyOptions())), calls_(calls) {}
  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return new RecordingBuilder(policy_->GetBuilderWithContext(context),
                                calls_);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override {
    return new RecordingReader(policy_->GetFilterBitsReader(contents), calls_);
  }

 private:
  const std::unique_ptr<const rocksdb::FilterPolicy> policy_;
  Calls* const calls_;
};

TEST(FilterSlotsTest, RocksDBCallsTheFunctionsWeMean) {
  Calls calls;
  constexpr size_t kKeys = 5000;
  {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = std::make_shared<RecordingPolicy>(&calls);
    table.detect_filter_construct_corruption = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.metadata_block_size = 1024;
    FilterDb db(table);
    db.Open();
    for (uint64_t i = 0; i < kKeys; ++i) {
      FilterDb::ExpectOk(db.db->Put({}, Key(2 * i), "v"));
    }
    FilterDb::ExpectOk(db.db->Flush({}));
    const size_t partitions = calls["Finish"] + calls["Finish with status"];
    EXPECT_GT(partitions, 3u);
    EXPECT_GE(calls["AddKey"], kKeys);
    EXPECT_LE(calls["AddKey"], kKeys + 2 * partitions);
    EXPECT_GE(calls["ApproximateNumEntries"], 1u);
    EXPECT_GE(calls["MaybePostVerify"], 1u);
    EXPECT_GE(calls["EstimateEntriesAdded"], 1u);
    EXPECT_EQ(calls["~FilterBitsBuilder"], 1u);

    EXPECT_EQ(calls["MayMatch"] + calls["MayMatch batch"], 0u);
    std::string value;
    for (uint64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(db.db->Get({}, Key(2 * i), &value).ok());
    }
    EXPECT_EQ(calls["MayMatch"], 100u);
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 32; ++i) keys.push_back(Key(i));
    const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::PinnableSlice> values(slices.size());
    std::vector<rocksdb::Status> statuses(slices.size());
    db.db->MultiGet({}, db.db->DefaultColumnFamily(), slices.size(),
                    slices.data(), values.data(), statuses.data());
    EXPECT_EQ(calls["MayMatch batch"], 1u);
    EXPECT_EQ(calls["MayMatch"], 100u);
  }
  EXPECT_GE(calls["~FilterBitsReader"], 1u);
}

}  // namespace
}  // namespace rocksync

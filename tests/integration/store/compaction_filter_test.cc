// An application that promises that its compaction filter drops and changes
// nothing (ReplicatedDBOptions::compaction_filters_drop_nothing) may have one.

#include "rocksdb/compaction_filter.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "replication/store/upkeep/scrub.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

// Keeps all pairs but `dropped`, and notes the keys that it is asked for: how
// often, differs between RocksDB's versions.
class CountingFilter final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "counting"; }
  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice&,
              std::string*, bool*) const override {
    const std::lock_guard lock(mutex_);
    asked_.insert(key.ToString());
    return key == dropped_;
  }

  size_t asked() const {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }
  void Drop(const std::string& key) { dropped_ = key; }

 private:
  mutable std::mutex mutex_;
  mutable std::set<std::string> asked_;
  std::string dropped_ = "none";
};

class CountingFactory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit CountingFactory(const CountingFilter* filter) : filter_(filter) {}
  const char* Name() const override { return "counting"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context&) override {
    class Forwarding final : public rocksdb::CompactionFilter {
     public:
      explicit Forwarding(const rocksdb::CompactionFilter* to) : to_(to) {}
      const char* Name() const override { return to_->Name(); }
      bool Filter(int level, const rocksdb::Slice& key,
                  const rocksdb::Slice& value, std::string* changed_to,
                  bool* changed) const override {
        return to_->Filter(level, key, value, changed_to, changed);
      }

     private:
      const rocksdb::CompactionFilter* const to_;
    };
    return std::make_unique<Forwarding>(filter_);
  }

 private:
  const CountingFilter* const filter_;
};

class CompactionFilterTest : public StoreTest {
 protected:
  static constexpr size_t kPairs = 100;

  void PutAndCompact() {
    for (size_t i = 0; i < kPairs; ++i) {
      ASSERT_ROCKS_OK(Put(std::to_string(i), "v"));
    }
    Compact();
  }
  void Compact() {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_ROCKS_OK(db_->CompactRange(options, nullptr, nullptr));
  }
  uint64_t CorruptionFoundByAScrub() {
    const auto scrub = StoreAccess::NewScrub(db_.get());
    EXPECT_ROCKS_OK(scrub->Load());
    bool finished = false;
    while (!finished) {
      uint64_t bytes = 0;
      const rocksdb::Status status = scrub->Step(&bytes, &finished);
      EXPECT_ROCKS_OK(status);
      if (!status.ok()) break;
    }
    return scrub->progress().corruption_found;
  }

  CountingFilter filter_;
};

TEST_F(CompactionFilterTest, IsRefusedWithoutThePromise) {
  const auto expect_refused = [&] {
    const rocksdb::Status status = Open();
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find("compaction_filters_drop_nothing"),
              std::string::npos)
        << status.ToString();
  };
  options_.compaction_filter = &filter_;
  expect_refused();
  options_.compaction_filter = nullptr;
  options_.compaction_filter_factory =
      std::make_shared<CountingFactory>(&filter_);
  expect_refused();
}

TEST_F(CompactionFilterTest, ThatDropsNothingLeavesTheIndexRight) {
  replication_.compaction_filters_drop_nothing = true;
  options_.compaction_filter = &filter_;
  ASSERT_ROCKS_OK(Open());
  ASSERT_NO_FATAL_FAILURE(PutAndCompact());
  EXPECT_EQ(filter_.asked(), kPairs) << "of the data alone, not of the index";
  EXPECT_EQ(CorruptionFoundByAScrub(), 0u);
  EXPECT_EQ(Total().count, kPairs);
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.pairs, kPairs);
}

TEST_F(CompactionFilterTest, MayComeFromAFactory) {
  replication_.compaction_filters_drop_nothing = true;
  options_.compaction_filter_factory =
      std::make_shared<CountingFactory>(&filter_);
  ASSERT_ROCKS_OK(Open());
  ASSERT_NO_FATAL_FAILURE(PutAndCompact());
  EXPECT_EQ(filter_.asked(), kPairs);
  CloseAndCheck();
}

// What options.h says of a promise that is broken.
TEST_F(CompactionFilterTest, ThatDropsAPairInSpiteOfThePromiseIsFoundByAScrub) {
  replication_.compaction_filters_drop_nothing = true;
  options_.compaction_filter = &filter_;
  filter_.Drop("7");
  ASSERT_ROCKS_OK(Open());
  const Digest before = [&] {
    for (size_t i = 0; i < kPairs; ++i) {
      EXPECT_ROCKS_OK(Put(std::to_string(i), "v"));
    }
    return Total();
  }();
  ASSERT_NO_FATAL_FAILURE(Compact());
  EXPECT_EQ(Get("7"), "-");
  EXPECT_EQ(Total(), before) << "the index does not notice";
  EXPECT_EQ(CorruptionFoundByAScrub(), 1u);
  EXPECT_EQ(Total().count, before.count - 1) << "quarantined: in no digest";
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.quarantined, 1u);
}

}  // namespace
}  // namespace rocksync

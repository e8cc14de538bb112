#include "examples/demo/comparison.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using ::testing::HasSubstr;

using Pairs = std::map<std::string, std::string>;
using Views = std::vector<std::unique_ptr<rocksdb::DB>>;

class ComparisonTest : public ::testing::Test {
 protected:
  void Add(const Pairs& pairs, Views* views) {
    const std::string name = directory_ / std::to_string(count_++);
    std::filesystem::create_directories(name);
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(OpenPlain(options, name, &opened).ok());
    writers_.emplace_back(opened);
    for (const auto& [key, value] : pairs) {
      ASSERT_TRUE(opened->Put({}, key, value).ok());
    }
    // The writer stays open: a view does not need it to go.
    const rocksdb::Status status = OpenView(name, &views->emplace_back());
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  ScanComparison Run(const std::vector<Pairs>& before,
                     const std::vector<Pairs>& after) {
    Views old_views;
    Views new_views;
    for (const Pairs& pairs : before) Add(pairs, &old_views);
    for (const Pairs& pairs : after) Add(pairs, &new_views);
    ScanComparison comparison;
    const rocksdb::Status status = Compare(old_views, new_views, &comparison);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return comparison;
  }

  const TemporaryDirectory directory_;
  int count_ = 0;
  Views writers_;
};

TEST_F(ComparisonTest, NothingHappened) {
  const Pairs pairs = {{"a", "1"}, {"b", "22"}};
  const ScanComparison found = Run({pairs, pairs}, {pairs, pairs});
  EXPECT_TRUE(found.equal);
  EXPECT_EQ(found.keys, 2u);
  EXPECT_EQ(found.key_bytes, 2u);
  EXPECT_EQ(found.value_bytes, 3u);
  EXPECT_EQ(found.pairs_needed, 0u);
}

TEST_F(ComparisonTest, CountsAPairOncePerReplicaThatItChanges) {
  const Pairs final = {{"both", "1"}, {"new", "22"}, {"over", "333"}};
  const ScanComparison found =
      Run({{{"both", "1"}, {"over", "old"}, {"gone", "x"}},
           {{"both", "1"}, {"over", "333"}, {"new", "22"}},
           {}},
          {final, final, final});
  EXPECT_TRUE(found.equal);
  EXPECT_EQ(found.keys, 3u);
  // The first: new, over, gone; the second: nothing; the third: all but gone.
  EXPECT_EQ(found.pairs_needed, 3u + 0u + 3u);
  EXPECT_EQ(found.key_bytes_needed, 3u + 4u + 4u + 4u + 3u + 4u);
  EXPECT_EQ(found.value_bytes_needed, 2u + 3u + 0u + 1u + 2u + 3u);
}

TEST_F(ComparisonTest, SeesEachDifference) {
  const Pairs pairs = {{"a", "1"}, {"b", "2"}};
  const Pairs value = {{"a", "1"}, {"b", "3"}};
  const Pairs fewer = {{"a", "1"}};
  const Pairs more = {{"a", "1"}, {"b", "2"}, {"c", ""}};
  for (const Pairs& other : {value, fewer, more, Pairs{}}) {
    const ScanComparison found =
        Run({pairs, pairs, pairs}, {pairs, pairs, other});
    EXPECT_FALSE(found.equal);
    EXPECT_THAT(found.first_difference, HasSubstr("replica 3"));
  }
  EXPECT_THAT(Run({pairs, pairs}, {value, pairs}).first_difference,
              HasSubstr(" b"));
}

TEST_F(ComparisonTest, AViewDoesNotChange) {
  const Pairs pairs = {{"a", "1"}};
  Views before;
  Add(pairs, &before);
  ASSERT_TRUE(writers_[0]->Put({}, "a", "2").ok());
  ASSERT_TRUE(writers_[0]->Flush({}).ok());
  ASSERT_TRUE(writers_[0]->CompactRange({}, nullptr, nullptr).ok());
  Views after;
  ASSERT_TRUE(OpenView(directory_ / "0", &after.emplace_back()).ok());
  ScanComparison found;
  ASSERT_TRUE(Compare(before, after, &found).ok());
  EXPECT_EQ(found.pairs_needed, 1u);
}

TEST(OpenView, NoDatabase) {
  std::unique_ptr<rocksdb::DB> view;
  EXPECT_FALSE(OpenView("/nonexistent", &view).ok());
}

}  // namespace
}  // namespace rocksync

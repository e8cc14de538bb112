#include "examples/demo/workload.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace rocksync {
namespace {

TEST(Workload, ValuesAreOfAllSizes) {
  std::mt19937_64 random(1);
  size_t smallest = SIZE_MAX, largest = 0, total = 0;
  constexpr size_t kCount = 20'000;
  for (size_t i = 0; i < kCount; ++i) {
    const size_t size = RandomValue(&random).size();
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
    total += size;
  }
  EXPECT_EQ(smallest, 1u);
  EXPECT_GT(largest, 60'000u);
  EXPECT_LE(largest, 65'536u);
  EXPECT_NEAR(static_cast<double>(total) / kCount, 650, 100);
}

TEST(Workload, KeysDiffer) {
  std::set<std::string> names;
  for (uint64_t i = 0; i < 10'000; ++i) names.insert(KeyName(i));
  EXPECT_EQ(names.size(), 10'000u);
}

TEST(Workload, ChangesAreWhatTheyShouldBe) {
  for (const auto& [keys, changes] :
       {std::pair<uint64_t, uint64_t>{100'000, 10'000},
        {5000, 1000},
        {100, 10},
        {100, 1000}}) {
    std::mt19937_64 random(7);
    const auto sides = ChangesWhileApart(keys, changes, 2, &random);
    ASSERT_EQ(sides.size(), 2u);
    std::map<uint64_t, int> touched;
    std::map<DemoChange::Kind, int> kinds;
    for (const auto& side : sides) {
      EXPECT_EQ(side.size(), changes);
      std::set<uint64_t> mine;
      for (const DemoChange& change : side) {
        EXPECT_TRUE(mine.insert(change.key).second) << "twice on one side";
        EXPECT_EQ(change.kind == DemoChange::Kind::kPut, change.key >= keys);
        ++touched[change.key];
        ++kinds[change.kind];
      }
    }
    if (changes >= 1000) {
      for (const auto& [kind, count] : kinds) EXPECT_GT(count, 20);
    }
    if (changes == 10'000) {
      int races = 0;
      for (const auto& [key, count] : touched) races += count == 2;
      EXPECT_EQ(races, 200);
      EXPECT_EQ(kinds[DemoChange::Kind::kDelete], 4000);
      EXPECT_EQ(kinds[DemoChange::Kind::kOverwrite], 8000);
      EXPECT_EQ(kinds[DemoChange::Kind::kPut], 8000);
    }
  }
}

// A delete on both sides would need no pair that a scan can see.
TEST(Workload, NoKeyIsDeletedOnBothSides) {
  std::mt19937_64 random(7);
  const auto sides = ChangesWhileApart(5000, 1000, 2, &random);
  std::set<uint64_t> deleted;
  for (const auto& side : sides) {
    for (const DemoChange& change : side) {
      if (change.kind != DemoChange::Kind::kDelete) continue;
      EXPECT_TRUE(deleted.insert(change.key).second);
    }
  }
}

}  // namespace
}  // namespace rocksync

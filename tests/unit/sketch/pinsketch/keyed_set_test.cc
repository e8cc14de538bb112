#include "sketch/pinsketch/keyed_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

constexpr MappingKey kKey = {.high = 12345, .low = 67890};

TEST(KeyedSetTest, SortsByPlace) {
  for (const size_t n : {0, 1, 2, 2047, 2048, 4096, 50'000, 300'000}) {
    const std::vector<ElementHash> elements = RandomElements(n, n);
    const KeyedSet set(elements, kKey);
    ASSERT_EQ(set.size(), n);
    std::vector<bool> seen(n);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_LE(set.place(i > 0 ? i - 1 : 0), set.place(i));
      EXPECT_EQ(set.place(i), Mix(elements[set.ordinal(i)], kKey) >> 24);
      EXPECT_FALSE(seen[set.ordinal(i)]);
      seen[set.ordinal(i)] = true;
    }
  }
}

// Places that are alike, all or half of them, overflow the room of their part
// and must not make sorting quadratic. Those that are equal keep their order.
TEST(KeyedSetTest, EqualElementsSort) {
  constexpr size_t kCount = 200'000;
  const std::vector<ElementHash> equal(kCount, ElementHash{1, 2});
  std::vector<ElementHash> half = RandomElements(kCount, 1);
  std::fill(half.begin(), half.begin() + kCount / 2, ElementHash{1, 2});
  for (const std::vector<ElementHash>& elements : {equal, half}) {
    const KeyedSet set(elements, kKey);
    ASSERT_EQ(set.size(), kCount);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(set.place(i), Mix(elements[set.ordinal(i)], kKey) >> 24) << i;
      if (i == 0 || set.place(i - 1) < set.place(i)) continue;
      ASSERT_EQ(set.place(i - 1), set.place(i)) << i;
      ASSERT_LT(set.ordinal(i - 1), set.ordinal(i)) << i;
    }
  }
}

TEST(KeyedSetTest, RemoveKeepsTheRest) {
  const std::vector<ElementHash> elements = RandomElements(1000, 1);
  KeyedSet set(elements, kKey);
  std::vector<bool> marked(1000, false);
  for (size_t i = 0; i < 1000; i += 3) marked[i] = true;
  set.Remove(marked);
  EXPECT_EQ(set.size(), 666u);
  for (size_t i = 0; i < set.size(); ++i) EXPECT_NE(set.ordinal(i) % 3, 0u);
}

TEST(ShortIdsTest, GroupsAndIdsFollowThePlace) {
  const std::vector<ElementHash> elements = RandomElements(5000, 2);
  for (const IdShape& shape :
       {IdShape{1, 29}, IdShape{7, 20}, IdShape{1000, 14}, IdShape{9000, 12}}) {
    const KeyedSet set(elements, kKey);
    const ShortIds ids(set, shape);
    size_t covered = 0;
    for (uint32_t g = 0; g < shape.groups; ++g) {
      const ElementRange range = ids.group(g);
      EXPECT_EQ(range.begin, covered);
      covered = range.end;
      for (size_t i = range.begin; i < range.end; ++i) {
        const Uint128 product = Uint128{set.place(i)} * shape.groups;
        EXPECT_EQ(static_cast<uint64_t>(product >> 40), g);
        const uint64_t id =
            static_cast<uint64_t>(product) << 24 >> (64 - shape.bits);
        EXPECT_EQ(ids.ids()[i], std::max<uint64_t>(id, 1));
      }
    }
    EXPECT_EQ(covered, elements.size());
  }
}

// However they are asked for, and whatever was computed ahead.
TEST(ShortIdsTest, SumsOfASingleGroupAreThoseOfTheIds) {
  const std::vector<ElementHash> elements = RandomElements(3000, 3);
  const KeyedSet set(elements, kKey);
  const IdShape shape = {1, 29};
  const uint32_t group = 0;
  constexpr uint32_t kAll = 512;
  std::vector<uint32_t> expected;
  const ShortIds plain(set, shape);
  const std::vector<ElementRange> whole = {plain.group(0)};
  OddPowerSums(shape.bits, 0, kAll, plain.ids(), whole, &expected);
  using Part = std::pair<uint32_t, uint32_t>;
  const std::vector<std::vector<Part>> sequences = {
      {{0, 3}, {3, 13}, {16, 73}, {89, 29}, {118, 40}, {158, 354}},
      {{0, 16}, {16, 1}, {17, 8}, {25, 103}, {128, 1}, {129, 300}},
      {{12, 500}, {12, 0}, {0, 512}},
      {{20, 100}, {40, 10}, {0, 4}}};
  for (const std::vector<Part>& sequence : sequences) {
    ShortIds ids(set, shape);
    for (const auto& [first, count] : sequence) {
      const std::vector<uint32_t> sums = ids.Sums(first, count, {&group, 1});
      EXPECT_EQ(sums, std::vector<uint32_t>(expected.begin() + first,
                                            expected.begin() + first + count))
          << first << " " << count;
    }
  }
}

// Those of many groups, too: first of all of them, then of fewer and fewer.
TEST(ShortIdsTest, SumsOfGroupsAreThoseOfTheIds) {
  const std::vector<ElementHash> elements = RandomElements(6000, 4);
  const KeyedSet set(elements, kKey);
  for (const uint32_t n_groups : {2u, 5u, 40u}) {
    const IdShape shape = {n_groups, 22};
    ShortIds ids(set, shape);
    std::vector<uint32_t> groups(n_groups);
    for (uint32_t g = 0; g < n_groups; ++g) groups[g] = g;
    uint32_t first = 0;
    for (const uint32_t count : {18, 4, 5, 30}) {
      std::vector<ElementRange> ranges;
      for (const uint32_t g : groups) ranges.push_back(ids.group(g));
      std::vector<uint32_t> expected;
      OddPowerSums(shape.bits, first, count, ids.ids(), ranges, &expected);
      EXPECT_EQ(ids.Sums(first, count, groups), expected) << n_groups;
      first += count;
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(groups.size() / 2));
      if (groups.empty()) break;
    }
  }
}

}  // namespace
}  // namespace rocksync

// Keyed sets, short ids, ranks, estimates and schedules.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sketch/pinsketch/keyed_set.h"
#include "sketch/pinsketch/ranking.h"
#include "sketch/planning/cost_model.h"
#include "sketch/planning/difference_estimate.h"
#include "sketch/planning/sketch_schedule.h"

namespace rocksync {
namespace {

constexpr MappingKey kKey = {.high = 12345, .low = 67890};

std::vector<ElementHash> RandomElements(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ElementHash> elements(n);
  for (ElementHash& e : elements) e = {random(), random()};
  return elements;
}

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

// All small multisets of ids here and there: what the decoder resolves is what
// the owner finds under the same ranks.
TEST(RankingTest, BothSidesAgreeExhaustively) {
  for (int world = 0; world < 6561; ++world) {
    // Of each of four ids: 0, 1 or 2 here and there.
    std::vector<uint32_t> here;
    std::vector<uint32_t> there;
    std::vector<uint32_t> difference;
    std::set<uint32_t> only_there;
    int digits = world;
    for (uint32_t id = 10; id < 14; ++id) {
      const int a = digits % 3;
      const int b = digits / 3 % 3;
      digits /= 9;
      for (int i = 0; i < a; ++i) here.push_back(id);
      for (int i = 0; i < b; ++i) there.push_back(id);
      if (a % 2 != b % 2) difference.push_back(id);
      if (a % 2 == 0 && b == 1) only_there.insert(id);
    }
    const ResolvedGroup resolved = ResolveGroup(5, here, difference);
    EXPECT_EQ(resolved.count_there, CountRanked(there)) << world;
    std::set<uint32_t> named;
    uint64_t check = 0;
    for (const RankedId& found : FindRanks(there, resolved.ranks_there)) {
      ASSERT_TRUE(found.index);
      EXPECT_EQ(there[*found.index], found.id);
      named.insert(found.id);
      check += IdCheck(5, found.id);
    }
    EXPECT_EQ(named, only_there) << world;
    EXPECT_EQ(check, resolved.check);
    for (const uint32_t index : resolved.lacked_there) {
      EXPECT_TRUE(std::binary_search(difference.begin(), difference.end(),
                                     here[index]));
    }
  }
}

TEST(EstimateTest, FrozenBytes) {
  const std::string parities =
      Parities(RandomElements(3, 3), kKey, {.levels = 2, .buckets = 32});
  EXPECT_EQ(parities, std::string("\x00\x00\x00\x00\x00\x00\x14\x02", 8));
}

TEST(EstimateTest, NearTheTruth) {
  for (const int buckets : {32, 64}) {
    for (const size_t d : {30, 1000, 30'000}) {
      double total = 0;
      for (uint64_t seed = 0; seed < 30; ++seed) {
        const ParityShape shape = ShapeParities(2'000'000, buckets);
        EXPECT_LE(shape.bytes(), 128u);
        const MappingKey key = {seed * 7 + 1, seed * 11 + 5};
        const std::vector<ElementHash> common = RandomElements(100, seed);
        std::vector<ElementHash> more = RandomElements(d, 1000 + seed);
        more.insert(more.end(), common.begin(), common.end());
        const double estimate =
            EstimateDifference(Parities(common, key, shape),
                               Parities(more, key, shape), shape, 2e6);
        EXPECT_GT(estimate, 0.3 * static_cast<double>(d));
        EXPECT_LT(estimate, 3.0 * static_cast<double>(d));
        total += estimate / static_cast<double>(d) / 30;
      }
      EXPECT_NEAR(total, 1, 0.2);
    }
  }
}

TEST(ShapeTest, IdsAreWideEnough) {
  for (const uint64_t n : {uint64_t{1}, uint64_t{50}, uint64_t{10'000},
                           uint64_t{1'000'000}, uint64_t{10'000'000}}) {
    for (const double d : {1.0, 20.0, 200.0, 5000.0, 1e6}) {
      if (d > 2 * static_cast<double>(n)) continue;
      const IdShape shape = ChooseIdShape(n, d, 9);
      const double per_group = static_cast<double>(n) / shape.groups;
      // At most 0.25 % of the differences are hidden.
      EXPECT_LE(per_group * std::exp2(-shape.bits), 0.0025) << n << " " << d;
      EXPECT_LE(d / shape.groups, 141) << n << " " << d;
    }
  }
}

// Plays the passes over many groups and counts sums per difference.
TEST(ScheduleTest, FewSumsAndFewPasses) {
  std::mt19937_64 random(4);
  for (const double truth : {22.0, 31.0, 42.0}) {
    std::poisson_distribution<uint32_t> size(truth);
    std::vector<uint32_t> groups(300);
    uint64_t differences = 0;
    for (uint32_t& d : groups) differences += d = size(random);
    // Estimated as 31.
    uint32_t sums = FirstSums(31, 0.25, SumsMargin::kFrugal, false);
    uint64_t sent = sums * groups.size();
    uint32_t passes = 1;
    while (true) {
      std::vector<uint32_t> decoded;
      std::vector<uint32_t> failed;
      for (const uint32_t d : groups)
        (d <= sums ? decoded : failed).push_back(d);
      if (failed.empty()) break;
      ASSERT_LT(++passes, 9u);
      const uint32_t next =
          NextSums(sums, decoded, static_cast<uint32_t>(failed.size()),
                   passes < kPasses ? kPasses - passes : 1, false, false);
      ASSERT_GT(next, sums);
      sent += (next - sums) * failed.size();
      sums = next;
      groups = failed;
    }
    EXPECT_LT(static_cast<double>(sent) / static_cast<double>(differences),
              1.36)
        << truth;
  }
}

// A single group, its differences estimated within a standard error of 25 %:
// an eighth too many sums in the mean, and a quarter seldom.
TEST(ScheduleTest, ASingleGroupGrowsInSmallSteps) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> error(1, 0.25);
  constexpr int kRuns = 2000;
  constexpr uint32_t kDifferences = 100;
  double sent = 0;
  double passes = 0;
  int wasteful = 0;
  for (int run = 0; run < kRuns; ++run) {
    uint32_t sums = FirstSums(kDifferences * std::max(error(random), 0.2), 0.25,
                              SumsMargin::kFrugal, true);
    for (++passes; sums < kDifferences; ++passes) {
      sums = NextSums(sums, {}, 1, 1, false, true);
    }
    sent += sums;
    wasteful += sums > kDifferences * 5 / 4;
  }
  EXPECT_LT(sent / kRuns, 1.13 * kDifferences);
  EXPECT_LT(passes / kRuns, 2.6);
  EXPECT_LT(wasteful, kRuns / 10);
}

}  // namespace
}  // namespace rocksync

// The filters of the stream experiments: timers, generations, growth and trees.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/experiments/filters/bloom_tree.h"
#include "tests/experiments/filters/dynamic_filter.h"
#include "tests/experiments/filters/generation_filter.h"
#include "tests/experiments/filters/timer_filter.h"

namespace rocksync {
namespace {

std::vector<ElementHash> StreamElements(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ElementHash> elements(n);
  for (ElementHash& e : elements) e = {random(), random()};
  return elements;
}

TEST(TimerFilterTest, RemembersForAWindowAndNoLongerThanItsUnits) {
  const SlicedMapping mapping({{100'000, 4}, 1, 1}, MappingSeed{1}, 0);
  for (const TimerSpan& span :
       {TimerSpan::Exact(50), TimerSpan::OfBits(50, 2),
        TimerSpan::OfBits(50, 3), TimerSpan::OfBits(50, 4)}) {
    TimerFilter filter(&mapping, span);
    const std::vector<ElementHash> elements = StreamElements(500, 2);
    for (uint64_t now = 0; now < elements.size(); ++now) {
      filter.Insert(elements[now], now);
      for (uint64_t age = 0; age <= now; ++age) {
        const bool held = filter.MayContain(elements[now - age], now, 1);
        if (age < 50) {
          ASSERT_TRUE(held) << now << " " << age;
        }
        if (age >= span.unit * span.units) {
          ASSERT_FALSE(held) << now << " " << age;
        }
      }
    }
  }
  EXPECT_EQ(TimerSpan::Exact(1000).bits(), 10u);
  EXPECT_EQ(TimerSpan::OfBits(50, 3).bits(), 3u);
}

TEST(TimerFilterTest, CountsTimersThatRunAndThatAgree) {
  const SlicedMapping mapping({{64, 4}, 1, 1}, MappingSeed{2}, 0);
  TimerFilter filter(&mapping, TimerSpan::Exact(5));
  std::map<uint64_t, uint64_t> started;  // by position
  const std::vector<ElementHash> elements = StreamElements(200, 3);
  uint64_t now = 0;
  for (const ElementHash& e : elements) {
    now += e.low % 3 == 0 ? e.high % 9 : 1;
    filter.Insert(e, now);
    for (uint32_t i = 0; i < 4; ++i) started[mapping.Probe(e, i).bit] = now;
    uint64_t running = 0;
    for (const auto& [position, when] : started) running += when + 5 > now;
    ASSERT_EQ(filter.CountRunning(now), running);
    ASSERT_EQ(filter.Test(e, now).running, 4u);
    ASSERT_EQ(filter.Test(e, now).equal, 4u);
  }
  EXPECT_EQ(filter.CountRunning(now + 5), 0u);
}

TEST(GenerationFilterTest, RemembersForAWindowAndAtMostASliceMore) {
  for (const uint32_t generations : {2u, 3u, 5u}) {
    GenerationFilter filter(generations, 60, {100'000, 4}, MappingSeed{3});
    const std::vector<ElementHash> elements = StreamElements(400, 4);
    for (uint64_t now = 0; now < elements.size(); ++now) {
      filter.Insert(elements[now], now);
      for (uint64_t age = 0; age <= now; ++age) {
        const bool held = filter.MayContain(elements[now - age], now);
        if (age < 60) {
          ASSERT_TRUE(held) << now << " " << age;
        }
        if (age >= 60 + 60 / (generations - 1)) {
          ASSERT_FALSE(held) << now << " " << age;
        }
      }
    }
  }
}

TEST(DynamicFilterTest, GrowsWithABurstAndShrinksAfterIt) {
  // Room for 100 elements at a rate of 0.0625, which is half of the timers.
  const SlicedMapping mapping({{578, 4}, 1, 1}, MappingSeed{4}, 0);
  for (const Growth growth : {Growth::kDensity, Growth::kCardinality}) {
    DynamicFilter filter(&mapping, TimerSpan::Exact(90), growth, 0.0625);
    const std::vector<ElementHash> elements = StreamElements(1000, 5);
    for (uint64_t now = 0; now < 90; ++now) filter.Insert(elements[now], now);
    EXPECT_EQ(filter.CountFilters(89), 1u);
    for (uint64_t i = 90; i < 1000; ++i) filter.Insert(elements[i], 90);
    EXPECT_GE(filter.CountFilters(90), 9u);
    for (uint64_t i = 90; i < 1000; ++i) {
      ASSERT_TRUE(filter.MayContain(elements[i], 179));
    }
    EXPECT_EQ(filter.CountFilters(180), 1u);
  }
}

// Two leaves of four; an event comes to leaf 0, to its neighbour and to a leaf
// of the other half.
TEST(BloomTreeTest, ClimbsUntilSomebodyKnows) {
  const FilterShape shape = {10'000, 4};
  const FilterMapping mapping(MappingSeed{5}, 0, 4);
  const ElementHash event = {1, 2};
  for (const TreeKind kind : {TreeKind::kSparse, TreeKind::kDense}) {
    const bool dense = kind == TreeKind::kDense;
    BloomTree tree({.kind = kind, .levels = 3, .fan_out = 2, .shape = shape},
                   mapping);
    EXPECT_EQ(tree.leaves(), 4u);
    EXPECT_FALSE(tree.Process(event, 0).duplicate);
    const auto found_at = [&](uint32_t leaf) {
      const BloomTree::Outcome outcome = tree.Process(event, leaf);
      EXPECT_TRUE(outcome.duplicate);
      return outcome.level;
    };
    EXPECT_EQ(found_at(0), 2u);
    EXPECT_EQ(found_at(1), 1u);
    EXPECT_EQ(found_at(3), 0u);
    // A dense tree brings the event to where it is asked for.
    EXPECT_EQ(found_at(1), dense ? 2u : 1u);
    EXPECT_EQ(found_at(2), dense ? 1u : 0u);
    const std::vector<uint64_t> accesses =
        dense ? std::vector<uint64_t>{2, 4, 6} : std::vector<uint64_t>{4, 6, 7};
    EXPECT_EQ(tree.accesses(), accesses);
  }
}

// Filters that are nearly full: whoever stops at a refuted match misses members
// elsewhere, who climbs on does not.
TEST(BloomTreeTest, TopDownTestingMissesNothingIfItClimbsOn) {
  const FilterMapping mapping(MappingSeed{6}, 0, 4);
  const std::vector<ElementHash> elements = StreamElements(3000, 6);
  for (const TreeKind kind : {TreeKind::kSparse, TreeKind::kDense}) {
    for (const TopDown top_down : {TopDown::kStops, TopDown::kClimbs}) {
      BloomTree tree({.kind = kind,
                      .levels = 4,
                      .fan_out = 2,
                      .shape = {8000, 4},
                      .threshold = 3,
                      .top_down = top_down},
                     mapping);
      std::vector<bool> delivered;
      for (const ElementHash& e : elements) {
        delivered.push_back(!tree.Process(e, e.low % 8).duplicate);
      }
      uint32_t missed = 0;
      for (size_t i = 0; i < elements.size(); ++i) {
        missed += delivered[i] &&
                  !tree.Process(elements[i], elements[i].high % 8).duplicate;
      }
      if (top_down == TopDown::kStops) {
        EXPECT_GT(missed, 0u);
      } else {
        EXPECT_EQ(missed, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace rocksync

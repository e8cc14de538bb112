#include "sketch/window/sliding_window_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace rocksync {
namespace {

MappingSeed WindowSeed(uint8_t value) {
  MappingSeed seed = {};
  seed[0] = value;
  return seed;
}

std::vector<ElementHash> WindowElements(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ElementHash> elements(n);
  for (ElementHash& e : elements) e = {random(), random()};
  return elements;
}

size_t Hidden(SlidingWindowFilter* filter,
              const std::vector<ElementHash>& elements, uint64_t now_ms) {
  return static_cast<size_t>(std::count_if(
      elements.begin(), elements.end(),
      [&](const auto& e) { return filter->MayContain(e, now_ms); }));
}

TEST(SlidingWindowTest, FrozenValues) {
  SlidingWindowFilter filter({.window_ms = 100, .false_positive_rate = 0.5},
                             WindowSeed(9));
  const std::vector<ElementHash> members = WindowElements(2000, 1);
  for (uint64_t i = 0; i < members.size(); ++i)
    filter.Insert(members[i], i / 20);
  const SlidingWindowStatistics statistics = filter.GetStatistics(99);
  EXPECT_EQ(statistics.generations, 4u);
  EXPECT_EQ(statistics.elements, 1990u);
  EXPECT_EQ(statistics.bits, 16'451u);
  EXPECT_EQ(statistics.bits_set, 7510u);
  uint64_t hidden = 0;
  for (uint64_t i = 0; i < 64; ++i) {
    hidden |= uint64_t{filter.MayContain({i, ~i}, 99)} << i;
  }
  EXPECT_EQ(hidden, 76'596'378'037'389'314u);
}

// Everything that three elements, a clock and a window of 3 can go through in
// eight steps, beside a map that says when each was inserted last.
TEST(SlidingWindowTest, EverySmallWorldInTime) {
  constexpr uint64_t kWindow = 3;
  constexpr uint64_t kSlice = 1;
  const std::vector<ElementHash> elements = WindowElements(3, 2);
  for (uint32_t world = 0; world < 1u << 16; ++world) {
    SlidingWindowFilter filter(
        {.window_ms = kWindow, .false_positive_rate = 0.01}, WindowSeed(1));
    std::map<size_t, uint64_t> last_ms;
    uint64_t now_ms = 1000;
    for (uint32_t step = 0; step < 8; ++step) {
      const size_t what = world >> 2 * step & 3;
      if (what < elements.size()) {
        filter.Insert(elements[what], now_ms);
        last_ms[what] = now_ms;
      } else {
        ++now_ms;
      }
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      const uint64_t age =
          last_ms.contains(i) ? now_ms - last_ms[i] : kWindow + kSlice;
      const bool held = filter.MayContain(elements[i], now_ms);
      if (age < kWindow) {
        ASSERT_TRUE(held) << world << " " << i;
      }
      if (age >= kWindow + kSlice) {
        ASSERT_FALSE(held) << world << " " << i;
      }
    }
  }
}

// The same by the number of elements inserted since, as the filter counts them.
TEST(SlidingWindowTest, EverySmallWorldInElements) {
  constexpr uint64_t kWindow = 5;
  constexpr uint64_t kSlice = 2;
  const std::vector<ElementHash> elements = WindowElements(4, 3);
  for (uint32_t world = 0; world < 1u << 14; ++world) {
    SlidingWindowFilter filter({.window_ms = 0,
                                .window_elements = kWindow,
                                .false_positive_rate = 0.01},
                               WindowSeed(1));
    std::map<size_t, uint64_t> last;
    uint64_t inserted = 0;
    for (uint32_t step = 0; step < 7; ++step) {
      const size_t what = world >> 2 * step & 3;
      filter.Insert(elements[what], 0);
      const uint64_t before = inserted;
      inserted = filter.GetStatistics(0).inserted;
      ASSERT_LE(inserted, before + 1);
      if (!last.contains(what)) {
        ASSERT_EQ(inserted, before + 1) << world;
      }
      last[what] = inserted;
    }
    for (const auto& [i, when] : last) {
      const bool held = filter.MayContain(elements[i], 0);
      if (inserted - when < kWindow) {
        ASSERT_TRUE(held) << world << " " << i;
      }
      if (inserted - when >= kWindow + kSlice) {
        ASSERT_FALSE(held) << world << " " << i;
      }
    }
  }
}

// 10 seconds at 2 000 elements a second: what a window holds is remembered,
// what is a slice older is not, and others are hidden at the rate that the
// filter says, which is below the one that was asked for.
TEST(SlidingWindowTest, RemembersAWindowAndErrsAtItsRate) {
  const std::vector<ElementHash> members = WindowElements(20'000, 4);
  const std::vector<ElementHash> others = WindowElements(400'000, 5);
  for (const double rate : {0.2, 0.01, 0.001}) {
    const SlidingWindowOptions options = {.window_ms = 2000,
                                          .false_positive_rate = rate};
    SlidingWindowFilter filter(options, WindowSeed(2));
    double worst = 0;
    for (uint64_t i = 0; i < members.size(); ++i) {
      filter.Insert(members[i], i / 2);
      if (i % 100 == 0) {
        worst =
            std::max(worst, filter.GetStatistics(i / 2).false_positive_rate);
      }
    }
    EXPECT_LE(worst, rate);
    const uint64_t now_ms = members.size() / 2 - 1;
    size_t remembered_too_long = 0;
    for (uint64_t i = 0; i < members.size(); ++i) {
      const uint64_t age_ms = now_ms - i / 2;
      const bool held = filter.MayContain(members[i], now_ms);
      if (age_ms < 2000) {
        ASSERT_TRUE(held) << i;
      }
      if (age_ms >= 2500) remembered_too_long += held;
    }
    const SlidingWindowStatistics statistics = filter.GetStatistics(now_ms);
    EXPECT_EQ(statistics.forgotten_early, 0u);
    const double says = statistics.false_positive_rate;
    const double n = static_cast<double>(others.size());
    EXPECT_NEAR(static_cast<double>(Hidden(&filter, others, now_ms)), says * n,
                5 * std::sqrt(says * n) + 1);
    EXPECT_NEAR(static_cast<double>(remembered_too_long), says * 15'000,
                5 * std::sqrt(says * 15'000) + 1);
  }
}

TEST(SlidingWindowTest, InsertedAgainIsRememberedAnew) {
  SlidingWindowFilter filter({.window_ms = 100}, WindowSeed(3));
  const ElementHash hash = {1, 2};
  for (const uint64_t now_ms : {0, 60, 120, 180}) filter.Insert(hash, now_ms);
  EXPECT_TRUE(filter.MayContain(hash, 279));
  EXPECT_FALSE(filter.MayContain(hash, 280));
}

TEST(SlidingWindowTest, AClockThatGoesBackIsNotFollowed) {
  SlidingWindowFilter filter({.window_ms = 100}, WindowSeed(4));
  filter.Insert({1, 2}, 1000);
  EXPECT_TRUE(filter.MayContain({1, 2}, 0));
  EXPECT_FALSE(filter.MayContain({1, 2}, 1100));
  filter.Insert({3, 4}, 500);  // counts as 1100
  EXPECT_TRUE(filter.MayContain({3, 4}, 1199));
  EXPECT_FALSE(filter.MayContain({3, 4}, 1200));
  EXPECT_FALSE(filter.MayContain({3, 4}, 5));
}

// 1 000 elements a second, for two of the six seconds 50 times as many, and
// then silence: memory comes and goes, nothing is forgotten early, and the rate
// holds all the time.
TEST(SlidingWindowTest, SizeFollowsABurst) {
  const SlidingWindowOptions options = {.window_ms = 1000};
  SlidingWindowFilter filter(options, WindowSeed(5));
  std::mt19937_64 random(6);
  std::map<uint64_t, SlidingWindowStatistics> at;
  for (uint64_t now_ms = 0; now_ms < 6000; ++now_ms) {
    const bool burst = now_ms >= 2000 && now_ms < 4000;
    for (int i = 0; i < (burst ? 50 : 1); ++i) {
      filter.Insert({random(), random()}, now_ms);
    }
    const SlidingWindowStatistics now = filter.GetStatistics(now_ms);
    ASSERT_LE(now.false_positive_rate, options.false_positive_rate) << now_ms;
    ASSERT_LE(now.memory_bytes, options.max_bytes) << now_ms;
    ASSERT_EQ(now.forgotten_early, 0u) << now_ms;
    at[now_ms] = now;
  }
  // Of what a window holds; the smallest filters are not worth sizing.
  EXPECT_LT(at[1999].memory_bytes, 4 * 1000u + 4000);
  EXPECT_LT(at[3999].memory_bytes, 4 * 50'000u + 4000);
  EXPECT_GT(at[3999].memory_bytes, 2 * 50'000u);
  EXPECT_LT(at[5999].memory_bytes, 4 * 1000u + 4000);
  const SlidingWindowStatistics silence = filter.GetStatistics(6999);
  EXPECT_EQ(silence.generations, 0u);
  EXPECT_EQ(silence.elements, 0u);
  EXPECT_EQ(silence.false_positive_rate, 0);
  EXPECT_LT(silence.memory_bytes, 4000u);
  EXPECT_EQ(silence.inserted, 2000 * 52u);
}

// More than memory holds: the newest are kept, and no rate is given up.
TEST(SlidingWindowTest, MemoryIsBoundedAndTheOldestGoFirst) {
  for (const size_t max_bytes : {kMinSlidingWindowBytes, size_t{100'000}}) {
    const SlidingWindowOptions options = {.window_ms = 1'000'000,
                                          .max_bytes = max_bytes};
    SlidingWindowFilter filter(options, WindowSeed(6));
    const std::vector<ElementHash> members = WindowElements(200'000, 7);
    for (uint64_t i = 0; i < members.size(); ++i) {
      filter.Insert(members[i], i / 100);
      if (i % 16 != 0) continue;
      const SlidingWindowStatistics now = filter.GetStatistics(i / 100);
      ASSERT_LE(now.memory_bytes, max_bytes);
      ASSERT_LE(now.false_positive_rate, options.false_positive_rate);
      ASSERT_EQ(now.elements + now.forgotten_early, now.inserted);
    }
    const uint64_t now_ms = members.size() / 100;
    const uint64_t kept = filter.GetStatistics(now_ms).elements;
    // Two and a half bytes an element, and at most an eighth just forgotten.
    EXPECT_GT(static_cast<double>(kept),
              0.8 * (static_cast<double>(max_bytes) - 6000) / 2.5);
    for (uint64_t i = members.size() - kept; i < members.size(); ++i) {
      ASSERT_TRUE(filter.MayContain(members[i], now_ms)) << i;
    }
    const std::vector<ElementHash> old(members.begin(),
                                       members.begin() + 100'000);
    EXPECT_LT(Hidden(&filter, old, now_ms), 150u);
  }
}

// What one filter hides, another one of the same members hides no more often
// than anything else: one with another seed, and the same one a window later.
TEST(SlidingWindowTest, MappingsAreIndependent) {
  const std::vector<ElementHash> members = WindowElements(3000, 8);
  const std::vector<ElementHash> others = WindowElements(300'000, 9);
  const SlidingWindowOptions options = {.window_ms = 100,
                                        .false_positive_rate = 0.3};
  SlidingWindowFilter one(options, WindowSeed(7));
  SlidingWindowFilter two(options, WindowSeed(8));
  // Of `others`, what `filter` hides after the members were inserted at once.
  const auto hidden = [&](SlidingWindowFilter* filter, uint64_t now_ms,
                          const std::vector<ElementHash>& of) {
    for (const ElementHash& e : members) filter->Insert(e, now_ms);
    std::vector<ElementHash> result;
    std::copy_if(
        of.begin(), of.end(), std::back_inserter(result),
        [&](const ElementHash& e) { return filter->MayContain(e, now_ms); });
    return result;
  };
  const std::vector<ElementHash> by_one = hidden(&one, 0, others);
  ASSERT_GT(by_one.size(), 5000u);
  for (const auto& [filter, now_ms] :
       {std::pair(&two, uint64_t{0}), std::pair(&one, uint64_t{1000})}) {
    const size_t of_all = hidden(filter, now_ms, others).size();
    const size_t of_hidden = hidden(filter, now_ms, by_one).size();
    const double expected = static_cast<double>(of_all) *
                            static_cast<double>(by_one.size()) /
                            static_cast<double>(others.size());
    EXPECT_NEAR(static_cast<double>(of_hidden), expected,
                5 * std::sqrt(expected));
  }
}

// A window in time and one in elements: the shorter one counts.
TEST(SlidingWindowTest, BothWindowsHold) {
  SlidingWindowFilter filter({.window_ms = 1000, .window_elements = 400},
                             WindowSeed(9));
  const std::vector<ElementHash> members = WindowElements(2000, 10);
  for (const ElementHash& e : members) filter.Insert(e, 0);
  EXPECT_TRUE(filter.MayContain(members[1600], 0));
  EXPECT_FALSE(filter.MayContain(members[1400], 0));
  EXPECT_TRUE(filter.MayContain(members[1999], 999));
  EXPECT_FALSE(filter.MayContain(members[1999], 1000));
}

}  // namespace
}  // namespace rocksync

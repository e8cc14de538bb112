#include "sketch/filter/distributed_bloom_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

MappingSeed SeedOf(uint8_t value) {
  MappingSeed seed = {};
  seed[0] = value;
  return seed;
}

TEST(ShapeTest, IsThePapersFormula) {
  EXPECT_EQ(ShapeFilter(1000, 0.5), (FilterShape{1443, 1}));
  EXPECT_EQ(ShapeFilter(0, 0.5), (FilterShape{1, 1}));
  EXPECT_EQ(ShapeFilter(1, 0.5), (FilterShape{2, 1}));
  const FilterShape one_percent = ShapeFilter(1'000'000, 0.01);
  EXPECT_EQ(one_percent.probes, 7u);
  EXPECT_NEAR(static_cast<double>(one_percent.bits) / 1e6, 9.59, 0.01);
  EXPECT_EQ(ShapeFilter(uint64_t{1} << 60, 1e-9).bits, kMaxReductionRange);
}

TEST(MappingTest, FrozenValues) {
  const MappingKey key = DeriveMapping(SeedOf(1), 2, 3);
  EXPECT_EQ(key.high, 0x62c263b258ddf146u);
  EXPECT_EQ(key.low, 0xaf8108782c490e8cu);
  const ElementHash hash = {0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(Mix(hash, key), 0xac7de8b38e14ed78u);
  EXPECT_EQ(ShortMix(hash, key), 494237095u);
  EXPECT_EQ(Place(hash, key, 1000003, Reduction::kMixed), 115073u);
  EXPECT_EQ(Place(hash, key, kMaxShortRange, Reduction::kMixed), 15444909u);
  EXPECT_EQ(Place(hash, key, kMaxShortRange + 1, Reduction::kMixed), 90435398u);
  EXPECT_EQ(Place(hash, key, 1000003, Reduction::kPlainMod), 99357u);
}

// What kMaxShortRange promises: of the 2^32 values each place has at least 32,
// and no two places differ by more than one.
TEST(MappingTest, PlacesOfShortRangesAreNearlyEquallyLikely) {
  std::mt19937_64 random(21);
  for (const uint64_t m : {kMaxShortRange, kMaxShortRange - 1,
                           kMaxShortRange - 54'321, uint64_t{1'442'696}}) {
    const uint32_t range = static_cast<uint32_t>(m);
    // The first value of a place, from the definition of ShortScale.
    const auto first = [&](uint64_t p) { return ((p << 32) + m - 1) / m; };
    for (int i = 0; i < 1000; ++i) {
      const uint64_t p = i < 2 ? (m - 1) * i : random() % m;
      const uint64_t begin = first(p);
      const uint64_t end = first(p + 1);
      ASSERT_EQ(ShortScale(static_cast<uint32_t>(begin), range), p);
      ASSERT_EQ(ShortScale(static_cast<uint32_t>(end - 1), range), p);
      if (p > 0) {
        ASSERT_EQ(ShortScale(static_cast<uint32_t>(begin - 1), range), p - 1);
      }
      EXPECT_GE(end - begin, (uint64_t{1} << 32) / m);
      EXPECT_LE(end - begin, (uint64_t{1} << 32) / m + 1);
      EXPECT_GE(end - begin, 32u);
    }
  }
}

// Sets of 2^19 elements: random, alike in one half, counters. Pairs of equal
// ShortMix under 4 keys: 2^37 / 2^32 each, 128 in all, if all 32 bits count.
TEST(MappingTest, ShortMixesCollideAsOftenAsRandomNumbers) {
  constexpr uint64_t kElements = uint64_t{1} << 19;
  std::mt19937_64 random(22);
  for (int kind = 0; kind < 5; ++kind) {
    std::vector<ElementHash> elements(kElements);
    for (uint64_t i = 0; i < kElements; ++i) {
      const ElementHash kinds[] = {{random(), random()},
                                   {42, random()},
                                   {random(), 42},
                                   {0, i},
                                   {i << 32, 0}};
      elements[i] = kinds[kind];
    }
    uint64_t equal = 0;
    std::vector<uint32_t> mixes(kElements);
    for (uint64_t round = 0; round < 4; ++round) {
      const MappingKey key = DeriveMapping(SeedOf(23), kFilterPurpose, round);
      for (uint64_t i = 0; i < kElements; ++i) {
        mixes[i] = ShortMix(elements[i], key);
      }
      std::sort(mixes.begin(), mixes.end());
      for (uint64_t i = 1; i < kElements; ++i)
        equal += mixes[i] == mixes[i - 1];
    }
    EXPECT_NEAR(static_cast<double>(equal), 128, 6 * std::sqrt(128)) << kind;
  }
}

TEST(FilterTest, FrozenBytes) {
  DistributedBloomFilter filter({.bits = 19, .probes = 2},
                                FilterMapping(SeedOf(9), 0, 2));
  filter.Add({1, 2});
  filter.Add({3, 4});
  const std::string expected("\x00\x9a\x00", 3);
  EXPECT_EQ(filter.bytes(), expected);
}

TEST(FilterTest, NeverForgetsAndHidesAtItsRate) {
  const std::vector<ElementHash> members = RandomElements(20'000, 1);
  const std::vector<ElementHash> others = RandomElements(100'000, 2);
  for (const double rate : {0.5, 0.1, 0.01}) {
    const FilterShape shape = ShapeFilter(members.size(), rate);
    DistributedBloomFilter filter(shape,
                                  FilterMapping(SeedOf(7), 0, shape.probes));
    for (const ElementHash& e : members) filter.Add(e);
    for (const ElementHash& e : members) ASSERT_TRUE(filter.MayContain(e));
    double hidden = 0;
    for (const ElementHash& e : others) hidden += filter.MayContain(e);
    hidden /= static_cast<double>(others.size());
    EXPECT_NEAR(hidden, rate, 5 * std::sqrt(rate / 1e5) + 0.02 * rate);
  }
}

TEST(FilterTest, ManyAtOnceAreTheSame) {
  const std::vector<ElementHash> members = RandomElements(3000, 8);
  for (const Reduction reduction : {Reduction::kMixed, Reduction::kPlainMod}) {
    for (const double rate : {0.5, 0.02}) {
      const FilterShape shape = ShapeFilter(members.size(), rate);
      const FilterMapping mapping(SeedOf(3), 1, shape.probes, reduction);
      DistributedBloomFilter one(shape, mapping);
      DistributedBloomFilter all(shape, mapping);
      for (const ElementHash& e : members) one.Add(e);
      all.AddAll(members);
      EXPECT_EQ(one.bytes(), all.bytes());
    }
  }
}

// How many of `others` a one-probe filter over `members` hides in each of 10
// rounds with 10 fresh seeds.
size_t HiddenInAllRounds(const std::vector<ElementHash>& members,
                         std::vector<ElementHash> others, uint64_t m,
                         Reduction reduction) {
  for (uint8_t round = 0; round < 10; ++round) {
    DistributedBloomFilter filter(
        {.bits = m, .probes = 1},
        FilterMapping(SeedOf(round), 0, 1, reduction));
    for (const ElementHash& e : members) filter.Add(e);
    std::erase_if(others,
                  [&](const ElementHash& e) { return !filter.MayContain(e); });
  }
  return others.size();
}

// 100 000 absent elements, filters half full: independence expects
// 100 000 / 2^10 = 97.6, with a standard deviation of 10.
TEST(IndependenceTest, ElementsHiddenInAllOfTenRounds) {
  const std::vector<ElementHash> members = RandomElements(100'000, 3);
  const std::vector<ElementHash> others = RandomElements(100'000, 4);
  for (const uint64_t m :
       {uint64_t{1} << 17, uint64_t{144'269}, uint64_t{144'270},
        uint64_t{144'271}, uint64_t{3} << 15, uint64_t{196'608}}) {
    const double load = 100'000.0 / static_cast<double>(m);
    const double expected = 100'000 * std::pow(-std::expm1(-load), 10);
    const size_t hidden =
        HiddenInAllRounds(members, others, m, Reduction::kMixed);
    EXPECT_NEAR(static_cast<double>(hidden), expected,
                6 * std::sqrt(expected) + 0.03 * expected)
        << m;
  }
  // The paper's own reduction fails for a power of two, and only there.
  EXPECT_GT(HiddenInAllRounds(members, others, uint64_t{1} << 17,
                              Reduction::kPlainMod),
            30'000u);
  EXPECT_LT(HiddenInAllRounds(members, others, 144'271, Reduction::kPlainMod),
            160u);
}

// Sets whose hashes agree in one half must be no easier to hide in.
TEST(IndependenceTest, EqualHalves) {
  for (const bool equal_high : {false, true}) {
    std::vector<ElementHash> members = RandomElements(100'000, 5);
    std::vector<ElementHash> others = RandomElements(100'000, 6);
    for (auto* set : {&members, &others}) {
      for (ElementHash& e : *set) (equal_high ? e.high : e.low) = 42;
    }
    for (const uint64_t m : {uint64_t{1} << 17, uint64_t{144'270}}) {
      const double load = 100'000.0 / static_cast<double>(m);
      const double expected = 100'000 * std::pow(-std::expm1(-load), 10);
      EXPECT_NEAR(static_cast<double>(
                      HiddenInAllRounds(members, others, m, Reduction::kMixed)),
                  expected, 6 * std::sqrt(expected) + 0.05 * expected)
          << equal_high << " " << m;
    }
  }
}

// For m from 1 to 2^40: pairs of elements that share a place under one mapping
// share it under another no more often than 1/m. Pairs differ in few bits, in
// one half, or at random.
TEST(IndependenceTest, CollisionsDoNotCarryOverForAnySize) {
  std::mt19937_64 random(11);
  for (int exponent = 0; exponent <= 40; ++exponent) {
    for (const int64_t offset : {-1, 0, 1}) {
      const int64_t m = (int64_t{1} << exponent) + offset;
      if (m < 1 || m > static_cast<int64_t>(kMaxReductionRange)) continue;
      const uint64_t range = static_cast<uint64_t>(m);
      double same = 0;
      const int kPairs = 2000;
      for (int i = 0; i < kPairs; ++i) {
        const MappingKey key = DeriveMapping(SeedOf(1), 1, random() % 64);
        const ElementHash a = {random(), random()};
        ElementHash b = a;
        if (i % 3 == 0) b.low ^= uint64_t{1} << random() % 64;
        if (i % 3 == 1) b.high ^= uint64_t{1} << random() % 64;
        if (i % 3 == 2) b = {random(), random()};
        const uint64_t place = Place(a, key, range, Reduction::kMixed);
        ASSERT_LT(place, range);
        same += place == Place(b, key, range, Reduction::kMixed);
      }
      const double expected = kPairs / static_cast<double>(range);
      EXPECT_LE(same, expected + 6 * std::sqrt(expected) + 3) << range;
    }
  }
}

}  // namespace
}  // namespace rocksync

#include "tests/experiments/filters/filter_estimates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

DistributedBloomFilter FilterOf(std::span<const ElementHash> elements,
                                const FilterShape& shape) {
  DistributedBloomFilter filter(shape, FilterMapping({}, 0, shape.probes));
  for (const ElementHash& e : elements) filter.Add(e);
  return filter;
}

TEST(FalsePositiveRateTest, IsWhatShapesAreMadeFor) {
  for (const double rate : {0.9, 0.5, 0.277, 0.1, 0.01, 1e-4}) {
    EXPECT_NEAR(FalsePositiveRate(100'000, ShapeFilter(100'000, rate)) / rate,
                1, 1e-3);
  }
}

TEST(EstimateCountTest, IsNearlyTheCount) {
  const std::vector<ElementHash> members = RandomElements(20'000, 1);
  for (const double rate : {0.5, 0.1, 0.01}) {
    const FilterShape shape = ShapeFilter(members.size(), rate);
    EXPECT_NEAR(EstimateCount(CountBitsSet(FilterOf(members, shape)), shape),
                20'000, 500);
  }
}

TEST(HiddenByAllTest, IsThePowerOfTheRate) {
  const FilterShape shape = {.bits = 1443, .probes = 1};
  EXPECT_NEAR(HiddenByAll(1000, shape, 10), std::pow(0.5, 10), 1e-5);
  EXPECT_EQ(HiddenByAll(1000, shape, 0), 1);
  EXPECT_EQ(HiddenByAll(0, shape, 3), 0);
}

TEST(FalsePositiveBoundTest, LiesAboveTheFormulaAndClosesWithSize) {
  for (const uint32_t k : {1u, 2u, 7u}) {
    double last_ratio = 1e9;
    for (const uint64_t n : {5u, 50u, 500u, 50'000u}) {
      const FilterShape shape = {.bits = 2 * k * n, .probes = k};
      const double ratio =
          FalsePositiveBound(n, shape) / FalsePositiveRate(n, shape);
      EXPECT_GT(ratio, 1);
      EXPECT_LT(ratio, last_ratio);
      last_ratio = ratio;
    }
    EXPECT_LT(last_ratio, 1.0001);
  }
}

// Every filter of n elements in m bits with one probe, counted: the expected
// rate is exactly 1 - (1 - 1/m)^n, between formula (1)'s neighbours.
TEST(FalsePositiveBoundTest, HoldsForSmallFiltersExactly) {
  for (uint64_t m = 2; m <= 40; ++m) {
    for (uint64_t n = 1; n <= 60; ++n) {
      const double exact = 1 - std::pow(1 - 1.0 / static_cast<double>(m),
                                        static_cast<double>(n));
      EXPECT_LE(exact, FalsePositiveBound(n, {m, 1})) << m << " " << n;
    }
  }
}

TEST(OverlapTest, OfKnownSets) {
  const std::vector<ElementHash> all = RandomElements(50'000, 1);
  const std::span<const ElementHash> a(all.data(), 30'000);
  const std::span<const ElementHash> b(all.data() + 20'000, 30'000);
  for (const FilterShape shape :
       {FilterShape{100'000, 1}, FilterShape{400'000, 4}}) {
    const OverlapEstimate estimate =
        EstimateOverlap(FilterOf(a, shape), FilterOf(b, shape));
    EXPECT_NEAR(estimate.first, 30'000, 500);
    EXPECT_NEAR(estimate.second, 30'000, 500);
    EXPECT_NEAR(estimate.union_size, 50'000, 800);
    EXPECT_NEAR(estimate.intersection, 10'000, 1000);
    EXPECT_NEAR(estimate.difference, 40'000, 1500);
  }
}

TEST(OverlapTest, AtTheEnds) {
  const FilterShape shape = {.bits = 64, .probes = 1};
  const DistributedBloomFilter empty = FilterOf({}, shape);
  const OverlapEstimate none = EstimateOverlap(empty, empty);
  EXPECT_EQ(none.union_size, 0);
  EXPECT_EQ(none.intersection, 0);
  EXPECT_EQ(none.difference, 0);
  const std::vector<ElementHash> many = RandomElements(2000, 2);
  const OverlapEstimate full = EstimateOverlap(FilterOf(many, shape), empty);
  EXPECT_TRUE(std::isinf(full.first));
  EXPECT_TRUE(std::isinf(full.union_size));
  EXPECT_EQ(full.second, 0);
}

TEST(MissingTest, UndoesTheFalsePositives) {
  const std::vector<ElementHash> members = RandomElements(20'000, 3);
  const std::vector<ElementHash> others = RandomElements(5'000, 4);
  for (const double rate : {0.5, 0.05}) {
    const FilterShape shape = ShapeFilter(members.size(), rate);
    const DistributedBloomFilter filter = FilterOf(members, shape);
    uint64_t misses = 0;
    for (const ElementHash& e : others) misses += !filter.MayContain(e);
    EXPECT_NEAR(EstimateMissing(misses, CountBitsSet(filter), shape), 5'000,
                300);
  }
  EXPECT_TRUE(std::isinf(EstimateMissing(0, 8, {8, 1})));
}

}  // namespace
}  // namespace rocksync

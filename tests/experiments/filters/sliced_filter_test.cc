#include "tests/experiments/filters/sliced_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

bool SurelyMissing(const SlicedMapping& mapping, const SlicedFilter& filter,
                   const std::vector<bool>& lost, const ElementHash& hash) {
  for (uint32_t i = 0; i < mapping.layout().slices(); ++i) {
    if (!lost[i] && TestSlice(mapping, i, filter.slice(i), hash).zeros > 0) {
      return true;
    }
  }
  return false;
}

TEST(SlicedFilterTest, CutVerticallyIsTheFilterItself) {
  const SliceLayout layout = {
      .filter = {.bits = 8000, .probes = 3}, .groups = 1, .ranges = 10};
  const MappingSeed seed = {1, 2, 3};
  const SlicedMapping mapping(layout, seed, 7);
  SlicedFilter sliced(&mapping);
  DistributedBloomFilter whole(layout.filter, FilterMapping(seed, 7, 3));
  for (const ElementHash& e : RandomElements(2000, 1)) {
    sliced.Add(e);
    whole.Add(e);
  }
  std::string joined;
  for (uint32_t i = 0; i < layout.slices(); ++i) joined += sliced.slice(i);
  EXPECT_EQ(joined, whole.bytes());
}

TEST(SlicedFilterTest, ALostSliceNeverHidesAMember) {
  const std::vector<ElementHash> members = RandomElements(3000, 2);
  for (const uint32_t groups : {1u, 4u, 20u}) {
    const SliceLayout layout = {.filter = {.bits = 30'001, .probes = 4},
                                .groups = groups,
                                .ranges = 20 / groups};
    const SlicedMapping mapping(layout, {}, 0);
    SlicedFilter filter(&mapping);
    for (const ElementHash& e : members) filter.Add(e);
    std::vector<bool> lost(layout.slices(), false);
    for (uint32_t i = 0; i <= layout.slices(); ++i) {
      for (const ElementHash& e : members) {
        ASSERT_FALSE(SurelyMissing(mapping, filter, lost, e));
      }
      if (i < layout.slices()) lost[i] = true;
    }
    // With all slices lost nothing is said to be missing.
    for (const ElementHash& e : RandomElements(10, 3)) {
      EXPECT_FALSE(SurelyMissing(mapping, filter, lost, e));
    }
  }
}

TEST(SlicedFilterTest, EveryProbeIsInOneSlice) {
  const SliceLayout layout = {
      .filter = {.bits = 999, .probes = 5}, .groups = 3, .ranges = 4};
  const SlicedMapping mapping(layout, {}, 0);
  const SlicedFilter empty(&mapping);
  for (const ElementHash& e : RandomElements(200, 4)) {
    uint32_t zeros = 0;
    for (uint32_t i = 0; i < layout.slices(); ++i) {
      const SliceAnswer answer = TestSlice(mapping, i, empty.slice(i), e);
      EXPECT_EQ(answer.ones, 0u);
      zeros += answer.zeros;
    }
    EXPECT_EQ(zeros, 5u);
  }
}

TEST(FalsePositiveRateWithLossTest, ClosedForms) {
  const FilterShape shape = {.bits = 100'000, .probes = 4};
  const uint64_t n = 20'000;
  const double p = -std::expm1(-0.8);
  const SliceLayout horizontal = {shape, 40, 1};
  const SliceLayout vertical = {shape, 1, 40};
  const SliceLayout diced = {shape, 8, 5};
  for (const uint32_t lost : {0u, 1u, 8u, 40u}) {
    const double q = lost / 40.0;
    const double h = FalsePositiveRateWithLoss(n, horizontal, lost);
    const double v = FalsePositiveRateWithLoss(n, vertical, lost);
    const double d = FalsePositiveRateWithLoss(n, diced, lost);
    EXPECT_NEAR(h, q + (1 - q) * std::pow(p, 4), 1e-9);
    EXPECT_NEAR(v, std::pow(q + (1 - q) * p, 4), 1e-9);
    EXPECT_GE(d, v - 1e-9);
    EXPECT_LE(d, h + 1e-9);
  }
}

}  // namespace
}  // namespace rocksync

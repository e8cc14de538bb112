#include "sketch/planning/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rocksync {
namespace {

constexpr int kSlack = 10;

// What one side holds, and how much of it the other side lacks.
struct Side {
  double n;
  double m;
};

// The fewest bits of up to `filters` filters, in turn from `speaker` on, each
// over what the ones before it left open, and of the sketch.
double FewestBits(const Side& speaker, const Side& listener, int filters) {
  double best = SketchBits(std::max(speaker.n, listener.n),
                           speaker.m + listener.m, kSlack);
  if (filters == 0) return best;
  for (int code = 1; code <= 40; ++code) {
    const double rate = RateFromCode(static_cast<uint8_t>(code));
    const double bits = speaker.n * FilterBitsPerElement(rate);
    if (bits >= best) continue;
    const double open = listener.m * rate;
    best =
        std::min(best, bits + FewestBits({listener.n - listener.m + open, open},
                                         speaker, filters - 1));
  }
  return best;
}

// What a third filter saves of the bits of the best two, both sides holding n
// and lacking n * share / 2.
double ThirdFilterSaves(double share) {
  const double n = 1e6;
  const Side side = {n, n * share / 2};
  return 1 - FewestBits(side, side, 3) / FewestBits(side, side, 2);
}

// Why an exchange has one filter each way (docs/exchange.md).
TEST(CostModelTest, AThirdFilterSavesLittleUnlessSetsHardlyOverlap) {
  EXPECT_LT(ThirdFilterSaves(0.1), 0.001);
  EXPECT_NEAR(ThirdFilterSaves(0.3), 0.004, 0.002);
  EXPECT_NEAR(ThirdFilterSaves(0.5), 0.005, 0.002);
  EXPECT_NEAR(ThirdFilterSaves(0.7), 0.010, 0.003);
  EXPECT_NEAR(ThirdFilterSaves(1.0), 0.030, 0.005);
  EXPECT_NEAR(ThirdFilterSaves(1.5), 0.100, 0.015);
}

// One filter is cheaper than two of the same side, one after the other, with
// the same false positives in the end; at most 4 % dearer where rates are high
// and filters are the small part.
TEST(CostModelTest, OneFilterIsCheaperThanTwoOfOneSide) {
  for (double first = 0.9; first > 1e-4; first *= 0.7) {
    for (double second = 0.9; second > 1e-4; second *= 0.7) {
      const double ratio =
          FilterBitsPerElement(first * second) /
          (FilterBitsPerElement(first) + FilterBitsPerElement(second));
      EXPECT_LT(ratio, std::max(first, second) < 0.5 ? 1 : 1.04)
          << first << " " << second;
    }
  }
}

TEST(CostModelTest, PlansAreTheBestOfTheGrid) {
  for (const double share : {0.05, 0.3, 0.5, 1.0}) {
    const double n = 1e5;
    const Side side = {n, n * share / 2};
    const FilterPlan plan = PlanFilters(side.n, side.m, side.n, side.m, kSlack);
    EXPECT_NEAR(plan.bits / FewestBits(side, side, 2), 1, 0.01) << share;
    EXPECT_EQ(plan.first_rate < 1, share >= 0.3) << share;
  }
}

TEST(IdShapeTest, IdsAreWideEnough) {
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

}  // namespace
}  // namespace rocksync

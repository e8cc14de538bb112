#include "sketch/planning/difference_estimate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

constexpr MappingKey kKey = {.high = 12345, .low = 67890};

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

}  // namespace
}  // namespace rocksync

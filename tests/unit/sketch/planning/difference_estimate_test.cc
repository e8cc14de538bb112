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

// A bucket is a value modulo their number, big-endian within a level: halves of
// a level, added, are the level of half as many buckets.
TEST(EstimateTest, HalvesOfALevelAddUp) {
  const std::vector<ElementHash> elements = RandomElements(500, 7);
  for (const int buckets : {16, 32, 64}) {
    const ParityShape narrow = {.levels = 5, .buckets = buckets};
    const ParityShape wide = {.levels = 5, .buckets = 2 * buckets};
    const std::string rows = Parities(elements, kKey, wide);
    const size_t half = static_cast<size_t>(buckets) / 8;
    std::string folded;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i / half % 2 == 0) folded += rows[i] ^ rows[i + half];
    }
    EXPECT_EQ(folded, Parities(elements, kKey, narrow));
  }
}

TEST(EstimateTest, NearTheTruth) {
  for (const int buckets : {16, 32, 64, 128}) {
    for (const size_t d : {30, 1000, 30'000}) {
      double total = 0;
      for (uint64_t seed = 0; seed < 30; ++seed) {
        const ParityShape shape = ShapeParities(2'000'000, buckets);
        EXPECT_LE(shape.bytes(), 2u * static_cast<unsigned>(buckets));
        const MappingKey key = {seed * 7 + 1, seed * 11 + 5};
        const std::vector<ElementHash> common = RandomElements(100, seed);
        std::vector<ElementHash> more = RandomElements(d, 1000 + seed);
        more.insert(more.end(), common.begin(), common.end());
        const double estimate =
            EstimateDifference(Parities(common, key, shape),
                               Parities(more, key, shape), shape, 2e6);
        const double factor = buckets < 32 ? 5 : 3;
        EXPECT_GT(estimate, static_cast<double>(d) / factor);
        EXPECT_LT(estimate, static_cast<double>(d) * factor);
        total += estimate / static_cast<double>(d) / 30;
      }
      EXPECT_NEAR(total, 1, 0.2);
    }
  }
}

}  // namespace
}  // namespace rocksync

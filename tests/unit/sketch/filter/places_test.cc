#include "sketch/filter/places.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sketch/element/mapping.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

constexpr MappingKey kKey = {0x0123456789abcdef, 0xf00dfeedcafebeef};

// The ordinal of the first element.
constexpr uint32_t kFirst = 70'000;

// Sizes around those of vectors and blocks.
constexpr size_t kSizes[] = {0,  1,  3,   4,   7,   8,   9,   15,
                             16, 17, 255, 256, 257, 272, 1003};

TEST(PlacesTest, MixesOfManyAreThoseOfEach) {
  for (const size_t n : kSizes) {
    const std::vector<ElementHash> elements = RandomElements(n, n);
    std::vector<uint64_t> mixes(n);
    MixAll(elements, kKey, mixes.data());
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(mixes[i], Mix(elements[i], kKey)) << i << " of " << n;
    }
  }
}

TEST(PlacesTest, FiltersOfManyAreThoseOfEach) {
  for (const uint64_t m :
       {uint64_t{1}, uint64_t{7}, uint64_t{63}, uint64_t{64}, uint64_t{24},
        uint64_t{25}, uint64_t{65}, uint64_t{100}, uint64_t{1447},
        kMaxShortRange, kMaxShortRange + 1}) {
    for (const size_t n : kSizes) {
      const std::vector<ElementHash> members = RandomElements(n, 2 * n);
      const std::vector<ElementHash> others = RandomElements(n, 2 * n + 1);
      // Large filters are tested where few of their bytes are.
      if (m > 1'000'000 && n != 9) continue;
      std::vector<uint8_t> expected((m + 7) / 8, 0);
      for (const ElementHash& e : members) {
        const uint64_t p = Place(e, kKey, m, Reduction::kMixed);
        ASSERT_LT(p, m);
        expected[p / 8] = static_cast<uint8_t>(expected[p / 8] | 1 << p % 8);
      }
      std::vector<uint32_t> absent;
      for (uint32_t i = 0; i < n; ++i) {
        const uint64_t p = Place(others[i], kKey, m, Reduction::kMixed);
        if ((expected[p / 8] >> p % 8 & 1) == 0) absent.push_back(kFirst + i);
      }
      std::vector<uint8_t> bytes((m + 7) / 8, 0);
      SetPlaces(members, kKey, m, bytes.data());
      ASSERT_TRUE(bytes == expected) << m << " " << n;
      std::vector<uint32_t> found(n);
      found.resize(
          FindUnsetPlaces(others, kKey, m, bytes.data(), kFirst, found.data()));
      ASSERT_EQ(found, absent) << m << " " << n;
      found.resize(n);
      EXPECT_EQ(
          FindUnsetPlaces(members, kKey, m, bytes.data(), 0, found.data()), 0u);
    }
  }
}

}  // namespace
}  // namespace rocksync

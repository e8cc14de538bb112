#include "sketch/pinsketch/power_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/gram_plan.h"
#include "sketch/pinsketch/root_finding.h"
#include "sketch/pinsketch/syndrome_decoder.h"
#include "tests/unit/sketch/pinsketch/cpu_levels.h"

namespace rocksync {
namespace {

uint32_t SumSlowly(const Field& field, std::span<const uint32_t> elements,
                   uint32_t i) {
  uint32_t sum = 0;
  for (const uint32_t x : elements) {
    uint32_t power = x;
    for (uint32_t k = 0; k < i; ++k) {
      power = field.Multiply(power, field.Square(x));
    }
    sum ^= power;
  }
  return sum;
}

std::vector<uint32_t> RandomSet(size_t size, uint32_t mask,
                                std::mt19937_64* random) {
  std::set<uint32_t> set;
  while (set.size() < size) {
    const uint32_t x = static_cast<uint32_t>((*random)()) & mask;
    if (x != 0) set.insert(x);
  }
  return {set.begin(), set.end()};
}

std::vector<uint32_t> SumsOf(const Field& field, uint32_t count,
                             const std::vector<uint32_t>& elements) {
  std::vector<uint32_t> sums;
  const ElementRange all = {0, elements.size()};
  OddPowerSums(field.bits(), 0, count, elements, {&all, 1}, &sums);
  return sums;
}

TEST(PowerSumsTest, FrozenValues) {
  const std::vector<uint32_t> elements = {1, 2, 3, 0x12345};
  const std::vector<uint32_t> sums = SumsOf(Field(20), 3, elements);
  EXPECT_EQ(sums[0], 0x12345u);  // 1 + 2 + 3 = 0
  EXPECT_EQ(sums, (std::vector<uint32_t>{0x12345, 0xc017d, 0xa901e}));
}

TEST(PowerSumsTest, EveryWidthGroupingAndInstructionSet) {
  std::mt19937_64 random(2);
  for (int bits = kMinFieldBits; bits <= kMaxFieldBits; ++bits) {
    const Field field(bits);
    std::vector<uint32_t> elements(700);
    for (uint32_t& x : elements) {
      x = static_cast<uint32_t>(random()) & field.mask();
    }
    // Groups of all kinds of sizes, one empty, more than fit a vector.
    std::vector<ElementRange> groups = {{0, 0}, {0, 1}, {1, 64}, {64, 129}};
    for (size_t at = 129; at + 57 < elements.size(); at += 57) {
      groups.push_back({at, at + 57});
    }
    groups.push_back({0, elements.size()});
    for (const uint32_t first : {0u, 1u, 6u}) {
      std::vector<uint32_t> expected;
      for (const ElementRange& group : groups) {
        for (uint32_t i = first; i < first + 4; ++i) {
          expected.push_back(SumSlowly(
              field,
              std::span(elements).subspan(group.begin, group.end - group.begin),
              i));
        }
      }
      for (const CpuLevel level : CpuLevelsHere()) {
        std::vector<uint32_t> sums;
        OddPowerSums(bits, first, 4, elements, groups, &sums, level);
        ASSERT_EQ(sums, expected)
            << bits << " " << first << " " << static_cast<int>(level);
      }
    }
  }
}

// Long groups go by sums of products, short ones power by power.
TEST(PowerSumsTest, LongGroupsEqualTheSumsOfTheirParts) {
  std::mt19937_64 random(7);
  for (int bits = kMinFieldBits; bits <= kMaxFieldBits; ++bits) {
    const Field field(bits);
    std::vector<uint32_t> elements(4000);
    for (uint32_t& x : elements) {
      x = static_cast<uint32_t>(random()) & field.mask();
    }
    const std::vector<ElementRange> whole = {{0, 1300}, {1300, 4000}};
    std::vector<ElementRange> parts;
    for (size_t at = 0; at < 4000; at += 50) parts.push_back({at, at + 50});
    for (const auto& [first, count] :
         std::vector<std::pair<uint32_t, uint32_t>>{
             {0, 1}, {0, 3}, {3, 13}, {5, 1}, {16, 73}, {0, 140}}) {
      std::vector<uint32_t> of_parts;
      OddPowerSums(bits, first, count, elements, parts, &of_parts);
      std::vector<uint32_t> expected(2 * count, 0);
      for (size_t p = 0; p < parts.size(); ++p) {
        for (uint32_t i = 0; i < count; ++i) {
          expected[(p < 26 ? 0 : count) + i] ^= of_parts[p * count + i];
        }
      }
      for (const CpuLevel level : CpuLevelsHere()) {
        std::vector<uint32_t> sums;
        OddPowerSums(bits, first, count, elements, whole, &sums, level);
        ASSERT_EQ(sums, expected)
            << bits << " " << first << " " << static_cast<int>(level);
      }
    }
  }
}

TEST(GramPlanTest, EveryPowerAndSumIsWhatItsProductSays) {
  for (const uint32_t first : {0u, 3u, 40u}) {
    for (const uint32_t count : {1u, 2u, 13u, 73u, 128u}) {
      for (const uint32_t rows : {1u, 2u, 4u}) {
        const GramPlan plan = PlanGram(first, count, rows);
        const auto exponent = [&](const GramPlan::Product& product) {
          return (plan.powers[product.left] << product.shift) +
                 plan.powers[product.right];
        };
        ASSERT_EQ(plan.powers[0], 1u);
        ASSERT_EQ(plan.steps.size() + 1, plan.powers.size());
        ASSERT_LE(plan.rows, plan.powers.size());
        for (size_t k = 0; k < plan.steps.size(); ++k) {
          ASSERT_LE(std::max(plan.steps[k].left, plan.steps[k].right), k);
          EXPECT_EQ(exponent(plan.steps[k]), plan.powers[k + 1]);
        }
        ASSERT_EQ(plan.products.size(), count);
        for (uint32_t i = 0; i < count; ++i) {
          const GramPlan::Product& product = plan.products[i];
          EXPECT_LT(std::min(product.left, product.right), plan.rows);
          if (product.shift == 0) {
            EXPECT_EQ(first + i, 0u);
          } else {
            EXPECT_EQ(exponent(product), 2 * (first + i) + 1);
          }
        }
      }
    }
  }
}

TEST(PowerSumsTest, LongGroupsAreCutAndAdded) {
  std::mt19937_64 random(3);
  std::vector<uint32_t> elements(30'000);
  for (uint32_t& x : elements) x = static_cast<uint32_t>(random()) & 0x1fffff;
  const std::vector<ElementRange> whole = {{0, 30'000}};
  const std::vector<ElementRange> halves = {{0, 11'111}, {11'111, 30'000}};
  for (const CpuLevel level : CpuLevelsHere()) {
    std::vector<uint32_t> one;
    std::vector<uint32_t> two;
    OddPowerSums(21, 0, 10, elements, whole, &one, level);
    OddPowerSums(21, 0, 10, elements, halves, &two, level);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(one[i], two[i] ^ two[10 + i]);
  }
}

// Every set of up to 3 elements of GF(2^4).
TEST(DecoderTest, SmallWorldExhaustively) {
  const Field field(4);
  for (uint32_t subset = 0; subset < 1 << 15; ++subset) {
    std::vector<uint32_t> elements;
    for (uint32_t x = 1; x < 16; ++x) {
      if (subset >> (x - 1) & 1) elements.push_back(x);
    }
    if (elements.size() > 4) continue;
    std::vector<uint32_t> decoded;
    const bool ok =
        DecodePowerSums(field, SumsOf(field, 3, elements), &decoded);
    std::sort(decoded.begin(), decoded.end());
    if (elements.size() <= 3) {
      ASSERT_TRUE(ok) << subset;
      EXPECT_EQ(decoded, elements);
    } else if (ok) {
      // Another set with the same sums: never larger than the sums allow.
      EXPECT_LE(decoded.size(), 3u);
      EXPECT_EQ(SumsOf(field, 3, decoded), SumsOf(field, 3, elements));
    }
  }
}

TEST(DecoderTest, EveryWidthAndInstructionSet) {
  std::mt19937_64 random(4);
  for (int bits = 9; bits <= kMaxFieldBits; ++bits) {
    for (const CpuLevel level : CpuLevelsHere()) {
      const Field field(bits, level);
      for (const uint32_t count : {1u, 2u, 3u, 16u, 60u}) {
        for (const size_t size :
             {size_t{0}, size_t{1}, size_t{count} / 2, size_t{count}}) {
          const std::vector<uint32_t> elements =
              RandomSet(size, field.mask(), &random);
          std::vector<uint32_t> decoded;
          ASSERT_TRUE(
              DecodePowerSums(field, SumsOf(field, count, elements), &decoded));
          std::sort(decoded.begin(), decoded.end());
          EXPECT_EQ(decoded, elements);
        }
      }
    }
  }
}

TEST(DecoderTest, OverfullSketchesFail) {
  std::mt19937_64 random(5);
  const Field field(22);
  size_t wrong = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<uint32_t> elements =
        RandomSet(13 + random() % 20, field.mask(), &random);
    std::vector<uint32_t> decoded;
    wrong += DecodePowerSums(field, SumsOf(field, 12, elements), &decoded);
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(DecoderTest, NoiseNeverCrashes) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 3000; ++trial) {
    const Field field(4 + static_cast<int>(random() % 29));
    std::vector<uint32_t> sums(1 + random() % 20);
    for (uint32_t& s : sums) {
      s = random() % 3 == 0 ? 0
                            : static_cast<uint32_t>(random()) & field.mask();
    }
    std::vector<uint32_t> decoded;
    if (DecodePowerSums(field, sums, &decoded)) {
      EXPECT_EQ(SumsOf(field, static_cast<uint32_t>(sums.size()), decoded),
                sums);
    }
  }
}

// Every quadratic polynomial of a small field, and some of every field.
TEST(RootFindingTest, QuadraticEquations) {
  std::mt19937_64 random(5);
  for (int bits = kMinFieldBits; bits <= kMaxFieldBits; ++bits) {
    const Field field(bits);
    std::vector<uint32_t> roots;
    const uint32_t size = uint32_t{1} << std::min(bits, 6);
    size_t solved = 0;
    for (uint32_t i = 0; i < size * size; ++i) {
      const uint32_t a =
          (bits <= 6 ? i / size : static_cast<uint32_t>(random())) &
          field.mask();
      const uint32_t b =
          (bits <= 6 ? i % size : static_cast<uint32_t>(random())) &
          field.mask();
      if (!FindRoots(field, {b, a, 1}, &roots)) continue;
      ++solved;
      EXPECT_NE(a, 0u);
      ASSERT_EQ(roots.size(), 2u);
      for (const uint32_t root : roots) {
        EXPECT_EQ(field.Square(root) ^ field.Multiply(a, root) ^ b, 0u)
            << bits << " " << a << " " << b;
      }
    }
    // As many as there are pairs of distinct roots.
    const double expected = size * (size - 1) / 2.0;
    EXPECT_NEAR(static_cast<double>(solved), expected,
                bits <= 6 ? 0 : 0.1 * expected)
        << bits;
  }
}

TEST(RootFindingTest, RefusesRepeatedAndMissingRoots) {
  const Field field(10);
  std::vector<uint32_t> roots;
  EXPECT_FALSE(FindRoots(field, {9, 0, 1}, &roots));     // (x + 3)^2
  EXPECT_FALSE(FindRoots(field, {1, 1, 0, 1}, &roots));  // irreducible
  EXPECT_TRUE(FindRoots(field, {5, 1}, &roots));
  EXPECT_EQ(roots, (std::vector<uint32_t>{5}));
}

}  // namespace
}  // namespace rocksync

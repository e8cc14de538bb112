#include "sketch/filter/filter_coding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sketch/element/bit_stream.h"
#include "sketch/element/gap_coding.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

using std::string_literals::operator""s;

std::vector<uint64_t> RandomSlots(uint64_t range, double p,
                                  std::mt19937_64* random) {
  std::vector<uint64_t> slots;
  std::bernoulli_distribution set(p);
  for (uint64_t i = 0; i < range; ++i) {
    if (set(*random)) slots.push_back(i);
  }
  return slots;
}

bool Decode(const std::string& bytes, uint64_t range,
            std::vector<uint64_t>* slots) {
  SlotReader reader;
  if (!SlotReader::Open(bytes, range, &reader)) return false;
  slots->clear();
  uint64_t slot = 0;
  while (reader.Next(&slot)) slots->push_back(slot);
  return reader.ok();
}

TEST(FilterCodingTest, FrozenBytes) {
  std::string out;
  EncodeSlots(std::vector<uint64_t>{0, 3, 4, 100, 250}, 256, &out);
  EXPECT_EQ(
      out, "\x05\x03\xda\xa1\x00\x00\x00\x05\x9f\x86\x49\x08\xe8\x15\x00\xe2"s);
}

TEST(FilterCodingTest, SmallWorldExhaustively) {
  for (uint64_t range = 1; range <= 10; ++range) {
    for (uint32_t subset = 0; subset < 1u << range; ++subset) {
      std::vector<uint64_t> slots;
      for (uint64_t i = 0; i < range; ++i) {
        if (subset >> i & 1) slots.push_back(i);
      }
      std::string out;
      EncodeSlots(slots, range, &out);
      std::vector<uint64_t> decoded;
      ASSERT_TRUE(Decode(out, range, &decoded));
      EXPECT_EQ(decoded, slots);
    }
  }
}

// Within 2 % of m * H(p), as bytes on the wire.
TEST(FilterCodingTest, NearTheEntropy) {
  std::mt19937_64 random(1);
  for (const double p : {0.7, 0.5, 0.277, 0.1, 0.05, 0.02, 0.01, 0.001}) {
    const uint64_t range = static_cast<uint64_t>(20'000 / p);
    const std::vector<uint64_t> slots = RandomSlots(range, p, &random);
    std::string out;
    EncodeSlots(slots, range, &out);
    std::vector<uint64_t> decoded;
    ASSERT_TRUE(Decode(out, range, &decoded));
    EXPECT_EQ(decoded, slots);
    const double q =
        static_cast<double>(slots.size()) / static_cast<double>(range);
    const double bytes = static_cast<double>(range) *
                         (-q * std::log2(q) - (1 - q) * std::log2(1 - q)) / 8;
    EXPECT_LT(static_cast<double>(out.size()), 1.02 * bytes) << p;
  }
}

TEST(FilterCodingTest, VerySparseFilters) {
  std::mt19937_64 random(2);
  const uint64_t range = uint64_t{1} << 40;
  std::vector<uint64_t> slots;
  uint64_t at = 0;
  for (int i = 0; i < 100; ++i)
    slots.push_back(at += 1 + random() % (range / 128));
  slots.back() = range - 1;
  std::string out;
  EncodeSlots(slots, range, &out);
  std::vector<uint64_t> decoded;
  ASSERT_TRUE(Decode(out, range, &decoded));
  EXPECT_EQ(decoded, slots);
}

TEST(FilterCodingTest, DamageIsBounded) {
  std::mt19937_64 random(3);
  const std::vector<uint64_t> slots = RandomSlots(4000, 0.2, &random);
  std::string good;
  EncodeSlots(slots, 4000, &good);
  size_t noticed = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes = good;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    if (trial % 4 == 0) bytes.resize(random() % bytes.size());
    std::vector<uint64_t> decoded;
    noticed += !Decode(bytes, 4000, &decoded);
    EXPECT_LE(decoded.size(), 4000u);
    for (const uint64_t slot : decoded) EXPECT_LT(slot, 4000u);
  }
  EXPECT_GT(noticed, 1900u);
}

TEST(FilterCodingTest, CountsAreBounded) {
  // 2^60 slots in a range of 16.
  SlotReader reader;
  EXPECT_FALSE(SlotReader::Open(
      "\x80\x80\x80\x80\x80\x80\x80\x80\x10\x00\x80\x00\0\0\0\0\x80\0\0\0"s, 16,
      &reader));
}

TEST(GapCodingTest, RoundTripsNearTheEntropy) {
  std::mt19937_64 random(4);
  for (const double p : {0.9, 0.5, 0.1, 0.02, 0.001}) {
    const uint64_t range = static_cast<uint64_t>(5000 / p);
    const std::vector<uint64_t> slots = RandomSlots(range, p, &random);
    std::string out;
    {
      BitWriter writer(&out);
      PutPositions(slots, range, &writer);
    }
    BitReader reader(out);
    std::vector<uint64_t> decoded;
    ASSERT_TRUE(GetPositions(slots.size(), range, &reader, &decoded));
    EXPECT_TRUE(reader.AtEnd());
    EXPECT_EQ(decoded, slots);
    const double q =
        static_cast<double>(slots.size()) / static_cast<double>(range);
    const double bytes = static_cast<double>(range) *
                         (-q * std::log2(q) - (1 - q) * std::log2(1 - q)) / 8;
    if (p > 0.5) continue;
    EXPECT_LT(static_cast<double>(out.size()), 1.05 * bytes + 1);
  }
}

TEST(GapCodingTest, FrozenBytes) {
  std::string out;
  {
    BitWriter writer(&out);
    PutPositions(std::vector<uint64_t>{3, 50, 99}, 100, &writer);
  }
  EXPECT_EQ(out, "\x66\x7e\x00"s);
}

TEST(GapCodingTest, RefusesWhatDoesNotFit) {
  std::vector<uint64_t> positions;
  for (const std::string& bytes : {std::string(), "\xff\xff\xff\xff"s}) {
    BitReader reader(bytes);
    EXPECT_FALSE(GetPositions(3, 100, &reader, &positions));
  }
  const std::string zeros(100, '\0');
  BitReader reader(zeros);
  EXPECT_FALSE(GetPositions(uint64_t{1} << 60, 100, &reader, &positions));
  BitReader again(zeros);
  EXPECT_FALSE(GetPositions(5, 4, &again, &positions));
}

TEST(CostModelTest, FiltersAreThoseOfTheTable) {
  // Bits per element of coded one-probe filters, by arithmetic.
  EXPECT_NEAR(FilterBitsPerElement(0.5), 1.44, 0.01);
  EXPECT_NEAR(FilterBitsPerElement(0.277), 2.62, 0.01);
  EXPECT_NEAR(FilterBitsPerElement(0.1), 4.45, 0.01);
  EXPECT_NEAR(FilterBitsPerElement(0.01), 8.04, 0.01);
  EXPECT_NEAR(FilterBitsPerElement(0.001), 11.40, 0.01);
  EXPECT_EQ(FilterSlots(1000, 0.5), 1443u);
}

TEST(CostModelTest, FiltersPayOnlyForManyDifferences) {
  EXPECT_EQ(PlanFilters(1e6, 500, 1e6, 500, 9).first_rate, 1);
  EXPECT_EQ(PlanFilters(1e6, 5e4, 1e6, 5e4, 9).first_rate, 1);
  EXPECT_LT(PlanFilters(1e6, 25e4, 1e6, 25e4, 9).first_rate, 0.5);
  EXPECT_LT(PlanFilters(10, 5, 1e6, 1e6, 9).first_rate, 1e-3);
}

TEST(CostModelTest, WiderIdsForDearPairs) {
  EXPECT_EQ(ChooseSlack(100), 10);
  EXPECT_GT(ChooseSlack(10'000), 12);
  EXPECT_EQ(ChooseSlack(0), 9);
}

}  // namespace
}  // namespace rocksync

#include "sketch/parities/coupled_parities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sketch/parities/coupled_decoder.h"
#include "sketch/parities/coupled_kernels.h"
#include "sketch/planning/cost_model.h"
#include "sketch/planning/difference_estimate.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

// `here` holds all of `there` but the first `missing` of `here`, and `there`
// has `surplus` of its own.
struct Sets {
  std::vector<ElementHash> here;
  std::vector<ElementHash> there;
};
Sets MakeSets(size_t n, size_t missing, size_t surplus, uint64_t seed) {
  std::mt19937_64 random(seed);
  Sets sets;
  sets.here = RandomElements(n, &random);
  sets.there.assign(sets.here.begin() + static_cast<ptrdiff_t>(missing),
                    sets.here.end());
  const std::vector<ElementHash> own = RandomElements(surplus, &random);
  sets.there.insert(sets.there.end(), own.begin(), own.end());
  return sets;
}

CoupledKeys KeysOf(uint8_t number) {
  MappingSeed seed = {};
  seed[0] = number;
  return DeriveCoupledKeys(seed);
}

std::vector<bool> NoneOf(const std::vector<ElementHash>& elements) {
  return std::vector<bool>(elements.size());
}

std::string CellsOf(const CoupledParities& parities) {
  std::string bytes;
  parities.AppendCells(&bytes);
  return bytes;
}

// Judgements that are wrong, where the first `missing` are missing.
size_t CountWrong(const CoupledDecoder::Outcome& outcome, size_t missing) {
  const size_t right = static_cast<size_t>(
      std::count_if(outcome.missing.begin(), outcome.missing.end(),
                    [&](uint32_t ordinal) { return ordinal < missing; }));
  return missing - right + outcome.missing.size() - right;
}

TEST(CoupledParitiesTest, FrozenBytes) {
  std::vector<ElementHash> elements;
  for (uint64_t i = 1; i <= 8; ++i) elements.push_back({i, i * i});
  const CoupledShape shape = {.windows = 3, .cells = 6};
  const CoupledParities parities(elements, NoneOf(elements), KeysOf(1), shape);
  std::string bytes = CellsOf(parities);
  ASSERT_EQ(bytes.size(), CoupledBytes(7 * 6));
  parities.AppendSplits(1, 4, &bytes);
  std::string hex;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  EXPECT_EQ(hex, "d505844f0903123300");
}

TEST(CoupledParitiesTest, PlacesAreSpreadAndInRange) {
  std::mt19937_64 random(1);
  const CoupledShape shape = {.windows = 7, .cells = 13};
  std::vector<int> windows(shape.windows);
  std::vector<int> cells(shape.cells);
  std::vector<int> halves(2);
  for (const ElementHash& e : RandomElements(7000, &random)) {
    const CoupledPlace place = PlaceCoupled(e, KeysOf(2), shape);
    ++windows.at(place.window);
    for (uint32_t j = 0; j < kCoupledCells; ++j) {
      ++cells.at(place.cell[j]);
      ++halves.at(place.second_half >> j & 1);
    }
  }
  for (const int n : windows) EXPECT_NEAR(n, 1000, 150);
  for (const int n : cells) EXPECT_NEAR(n, 35000 / 13, 300);
  for (const int n : halves) EXPECT_NEAR(n, 17500, 700);
}

TEST(CoupledParitiesTest, ShapesHoldWhatIsAskedFor) {
  for (uint64_t total = 1; total < uint64_t{40} << 20; total = total * 3 + 1) {
    const CoupledShape shape = ShapeCoupled(total);
    EXPECT_LE(shape.windows, kMaxCoupledWindows);
    EXPECT_LE(shape.cells, kMaxSegmentCells);
    EXPECT_GE(shape.total_cells(), total);
    EXPECT_LE(shape.total_cells(), total + shape.segments());
  }
}

// One-sided differences from the bits that the cost model grants, for many
// shares of missing elements; nothing wrong in any.
TEST(CoupledDecoderTest, DecodesFromWhatTheModelGrants) {
  constexpr size_t kElements = 60000;
  uint8_t seed = 0;
  for (const double share : {0.005, 0.02, 0.1, 0.3}) {
    const size_t missing = static_cast<size_t>(share * kElements);
    const Sets sets = MakeSets(kElements, missing, 0, ++seed);
    const double bits = ParityBits(kElements, static_cast<double>(missing), 0);
    const CoupledShape shape = ShapeCoupled(static_cast<uint64_t>(bits));
    const CoupledParities parities(sets.there, NoneOf(sets.there), KeysOf(seed),
                                   shape);
    CoupledDecoder decoder(sets.here, NoneOf(sets.here), KeysOf(seed), shape);
    ASSERT_TRUE(decoder.TakeCells(CellsOf(parities)));
    EXPECT_NEAR(decoder.EstimateDifferences() / static_cast<double>(missing), 1,
                0.08);
    const auto outcome = decoder.Decode(static_cast<double>(missing), 0);
    EXPECT_EQ(CountWrong(outcome, missing), 0u) << share;
    EXPECT_EQ(outcome.unexplained_cells, 0u) << share;
    EXPECT_LT(outcome.expected_errors, 1) << share;
  }
}

TEST(CoupledDecoderTest, TooFewParitiesAreKnownToBeTooFewAndSplitsHelp) {
  constexpr size_t kElements = 60000;
  constexpr size_t kMissing = 3000;
  const Sets sets = MakeSets(kElements, kMissing, 0, 9);
  const double bits = 0.8 * ParityBits(kElements, kMissing, 0);
  const CoupledShape shape = ShapeCoupled(static_cast<uint64_t>(bits));
  const CoupledParities parities(sets.there, NoneOf(sets.there), KeysOf(3),
                                 shape);
  CoupledDecoder decoder(sets.here, NoneOf(sets.here), KeysOf(3), shape);
  ASSERT_TRUE(decoder.TakeCells(CellsOf(parities)));
  auto outcome = decoder.Decode(kMissing, 0);
  EXPECT_GT(CountWrong(outcome, kMissing), kMissing / 4);
  EXPECT_NEAR(outcome.expected_errors,
              static_cast<double>(CountWrong(outcome, kMissing)),
              kMissing / 4.0);
  uint32_t split = 0;
  for (const uint32_t to : {shape.cells / 5, shape.cells / 2}) {
    std::string bytes;
    parities.AppendSplits(split, to, &bytes);
    ASSERT_TRUE(decoder.ReceiveSplits(to, bytes));
    split = to;
  }
  EXPECT_NEAR(decoder.EstimateDifferences(), kMissing, kMissing * 0.05);
  outcome = decoder.Decode(kMissing, 0);
  EXPECT_EQ(CountWrong(outcome, kMissing), 0u);
  EXPECT_EQ(outcome.unexplained_cells, 0u);
}

TEST(CoupledDecoderTest, WhatOnlyThePeerHasStaysUnexplained) {
  constexpr size_t kMissing = 3000;
  constexpr size_t kSurplus = 40;
  const Sets sets = MakeSets(60000, kMissing, kSurplus, 10);
  const CoupledShape shape = ShapeCoupled(
      static_cast<uint64_t>(ParityBits(60000, kMissing, kSurplus)));
  const CoupledParities parities(sets.there, NoneOf(sets.there), KeysOf(4),
                                 shape);
  CoupledDecoder decoder(sets.here, NoneOf(sets.here), KeysOf(4), shape);
  ASSERT_TRUE(decoder.TakeCells(CellsOf(parities)));
  const auto outcome = decoder.Decode(kMissing, kSurplus);
  EXPECT_LE(CountWrong(outcome, kMissing), 8u);
  EXPECT_NEAR(static_cast<double>(outcome.unexplained_cells),
              double{kSurplus} * kCoupledCells, 45);
}

TEST(CoupledDecoderTest, ClosedElementsTakeNoPart) {
  const Sets sets = MakeSets(20000, 1000, 0, 11);
  std::vector<ElementHash> here = sets.here;
  here.push_back({1, 2});
  std::vector<bool> closed(here.size());
  closed.back() = true;
  const CoupledShape shape =
      ShapeCoupled(static_cast<uint64_t>(ParityBits(20000, 1000, 0)));
  const CoupledParities parities(sets.there, NoneOf(sets.there), KeysOf(5),
                                 shape);
  CoupledDecoder decoder(here, closed, KeysOf(5), shape);
  ASSERT_TRUE(decoder.TakeCells(CellsOf(parities)));
  const auto outcome = decoder.Decode(1000, 0);
  EXPECT_EQ(CountWrong(outcome, 1000), 0u);
  EXPECT_EQ(outcome.unexplained_cells, 0u);
}

TEST(CoupledDecoderTest, RefusesWrongSizesAndSpareBits) {
  const Sets sets = MakeSets(1000, 10, 0, 12);
  const CoupledShape shape = {.windows = 3, .cells = 6};
  CoupledDecoder decoder(sets.here, NoneOf(sets.here), KeysOf(6), shape);
  EXPECT_FALSE(decoder.TakeCells(std::string(5, '\0')));
  EXPECT_FALSE(decoder.TakeCells(std::string(7, '\0')));
  EXPECT_FALSE(decoder.TakeCells(std::string(6, '\xff')));  // 42 of 48 bits
  EXPECT_TRUE(decoder.TakeCells(std::string(6, '\0')));
  EXPECT_FALSE(decoder.ReceiveSplits(0, ""));
  EXPECT_FALSE(decoder.ReceiveSplits(7, std::string(7, '\0')));
  EXPECT_FALSE(decoder.ReceiveSplits(2, std::string(1, '\0')));
  EXPECT_TRUE(decoder.ReceiveSplits(2, std::string(2, '\0')));
  EXPECT_FALSE(decoder.ReceiveSplits(2, std::string()));
  // Parities of nothing in particular: an answer, if not a right one.
  const auto outcome = decoder.Decode(10, 0);
  EXPECT_LE(outcome.missing.size(), 1000u);
}

TEST(CoupledDecoderTest, NothingHere) {
  const CoupledShape shape = {.windows = 1, .cells = 8};
  CoupledDecoder decoder({}, {}, KeysOf(7), shape);
  ASSERT_TRUE(decoder.TakeCells(std::string(5, '\x0f')));
  EXPECT_EQ(decoder.Decode(1, 0).unexplained_cells, 20u);
}

TEST(FineEstimateTest, IsFineFromTheLeastToTwiceAsMany) {
  for (const uint64_t least :
       {uint64_t{300}, uint64_t{5000}, uint64_t{50000}}) {
    const FineShape shape = ShapeFine(least);
    for (const double factor : {1.0, 1.5, 2.0}) {
      const size_t d = static_cast<size_t>(factor * static_cast<double>(least));
      const Sets sets = MakeSets(d + 100, d, 0, least);
      const MappingKey key = DeriveMapping(MappingSeed{}, 3, 1);
      const double estimate =
          EstimateFine(FineParities(sets.here, key, shape),
                       FineParities(sets.there, key, shape), shape);
      const double error = 4.5 / std::sqrt(shape.buckets);
      EXPECT_NEAR(estimate / static_cast<double>(d), 1, 2.5 * error) << d;
    }
  }
  const FineShape shape = ShapeFine(300);
  EXPECT_TRUE(
      std::isinf(EstimateFine(std::string(shape.bytes(), '\x55'),
                              std::string(shape.bytes(), '\0'), shape)));
}

}  // namespace
}  // namespace rocksync

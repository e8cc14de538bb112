#include "plugin/filter_sizing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plugin/filter_format.h"
#include "rocksdb/table.h"

namespace rocksync {
namespace {

double Rate(double bits_per_key, FilterProbes probes) {
  return FilterFalsePositiveRate(1e6, 1e6 * bits_per_key / 512, probes);
}

TEST(FilterSizingTest, RatesAsSimulated) {
  // From an independent simulation of 4 * 10^6 keys.
  EXPECT_NEAR(Rate(8, {4, 1}), 0.0223051, 0.0005);
  EXPECT_NEAR(Rate(10, {5, 2}), 0.0086178, 0.0002);
  EXPECT_NEAR(Rate(12, {5, 3}), 0.0033592, 0.0001);
  EXPECT_NEAR(Rate(16, {6, 4}), 0.0005499, 0.00002);
  EXPECT_NEAR(Rate(20, {7, 5}), 0.0000966, 0.000005);
}

TEST(FilterSizingTest, RatesAtTheEdges) {
  EXPECT_EQ(FilterFalsePositiveRate(0, 10, {5, 2}), 0);
  EXPECT_EQ(FilterFalsePositiveRate(10, 0, {5, 2}), 1);
  EXPECT_NEAR(FilterFalsePositiveRate(1e6, 1, {5, 2}), 1, 1e-9);
}

uint32_t TotalProbes(double bits_per_key) {
  const FilterProbes probes = ChooseProbes(bits_per_key);
  EXPECT_GE(probes.second, 1u);
  EXPECT_GE(probes.first, probes.second);
  EXPECT_LE(probes.first, kMaxLineProbes);
  return probes.first + probes.second;
}

TEST(FilterSizingTest, ProbesGrowWithTheBits) {
  EXPECT_EQ(TotalProbes(1), 2u);
  EXPECT_EQ(TotalProbes(10), 6u);       // 7 saves 1.5 %
  EXPECT_NEAR(TotalProbes(16), 10, 1);  // 10 and 11 are as good
  EXPECT_EQ(TotalProbes(50), 2 * kMaxLineProbes);
  EXPECT_EQ(ChooseProbes(12).first, 5u);
  EXPECT_EQ(ChooseProbes(12).second, 3u);
  for (double bits = 1; bits < 50; bits += 0.5) {
    EXPECT_LE(TotalProbes(bits), TotalProbes(bits + 0.5));
  }
}

TEST(FilterSizingTest, TheTrailerCountsAsPartOfTheBits) {
  for (const size_t keys : {1ul, 10ul, 1000ul, 123456ul}) {
    TableFilterShape shape;
    shape.line_count = FilterLineCount(keys, 10);
    EXPECT_GE(shape.line_count, 1u);
    const double over = static_cast<double>(shape.bytes()) - keys * 10 / 8.;
    EXPECT_LT(over, 64 + 24);
    if (shape.line_count > 1) {
      EXPECT_GE(over, -1);
      EXPECT_LT(over, 64);
    }
  }
  EXPECT_EQ(FilterLineCount(0, 10), 0u);
  EXPECT_EQ(FilterLineCount(size_t{1} << 40, 50), kMaxFilterLines);
}

TEST(FilterSizingTest, SmallFiltersAreNotOverfull) {
  // RocksDB's own tests want at most 2 %, and each filter scatters.
  const FilterProbes probes = ChooseProbes(10);
  for (size_t keys = 1; keys <= 1000; ++keys) {
    const uint32_t lines = FilterLineCount(keys, 10);
    EXPECT_LE(FilterFalsePositiveRate(keys, lines, probes), 0.018) << keys;
  }
}

TEST(FilterSizingTest, AsManyKeysAsFit) {
  for (const double bits : {1., 9.7, 10., 16., 50.}) {
    for (size_t bytes = 0; bytes < 100000; bytes += bytes < 1000 ? 1 : 997) {
      const size_t keys = FilterKeyCount(bytes, bits);
      TableFilterShape shape;
      shape.line_count = FilterLineCount(keys, bits);
      if (bytes < 24 + 2 * 64) {
        EXPECT_EQ(keys, 0u);
        continue;
      }
      EXPECT_LE(shape.bytes(), bytes);
      shape.line_count = FilterLineCount(keys + 1, bits);
      EXPECT_GT(shape.bytes(), bytes);
    }
  }
  EXPECT_EQ(FilterKeyCount(~size_t{0}, 8),
            size_t{kMaxFilterLines} * 64 + 24);  // and not more
}

TEST(LevelAwareTest, TheTreesMeanIsWhatWasAskedFor) {
  for (const double ratio : {4., 8., 10., 20.}) {
    FilterPolicyOptions options;
    options.bits_per_key = 10;
    options.level_size_ratio = ratio;
    double keys = 0;
    double bits = 0;
    // Last level, middle level, top: a tree of three.
    for (int height = 0; height < kFilterHeights; ++height) {
      const double share = std::pow(ratio, -height);
      keys += share;
      bits += share * BitsAtHeight(options, static_cast<FilterHeight>(height));
    }
    EXPECT_NEAR(bits / keys, 10, 0.35) << ratio;
    EXPECT_LE(bits / keys, 10.0001) << ratio;
  }
}

TEST(LevelAwareTest, BitsStayInRange) {
  FilterPolicyOptions options;
  options.bits_per_key = kMinBitsPerKey;
  EXPECT_EQ(BitsAtHeight(options, FilterHeight::kLast), kMinBitsPerKey);
  options.bits_per_key = kMaxBitsPerKey;
  EXPECT_EQ(BitsAtHeight(options, FilterHeight::kTop), kMaxBitsPerKey);
}

class HeightOfTest : public testing::Test {
 protected:
  HeightOfTest() : context_(table_) {
    context_.compaction_style = rocksdb::kCompactionStyleLevel;
    context_.reason = rocksdb::TableFileCreationReason::kCompaction;
    context_.level_at_creation = 3;
  }
  rocksdb::BlockBasedTableOptions table_;
  rocksdb::FilterBuildingContext context_;
  FilterHeight height_ = FilterHeight::kLast;
};

TEST_F(HeightOfTest, FollowsFromLevelAndBottommost) {
  ASSERT_TRUE(HeightOf(context_, &height_));
  EXPECT_EQ(height_, FilterHeight::kMiddle);
  context_.is_bottommost = true;
  ASSERT_TRUE(HeightOf(context_, &height_));
  EXPECT_EQ(height_, FilterHeight::kLast);
  context_.is_bottommost = false;
  context_.level_at_creation = 0;
  context_.reason = rocksdb::TableFileCreationReason::kFlush;
  ASSERT_TRUE(HeightOf(context_, &height_));
  EXPECT_EQ(height_, FilterHeight::kTop);
}

TEST_F(HeightOfTest, UnknownOutsideLeveledTrees) {
  context_.level_at_creation = -1;
  EXPECT_FALSE(HeightOf(context_, &height_));
  context_.level_at_creation = 3;
  context_.reason = rocksdb::TableFileCreationReason::kMisc;
  EXPECT_FALSE(HeightOf(context_, &height_));
  context_.reason = rocksdb::TableFileCreationReason::kCompaction;
  context_.compaction_style = rocksdb::kCompactionStyleUniversal;
  EXPECT_FALSE(HeightOf(context_, &height_));
}

}  // namespace
}  // namespace rocksync

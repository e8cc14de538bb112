#include "plugin/filter_sizing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plugin/filter_format.h"
#include "rocksdb/table.h"

namespace rocksync {
namespace {

double Rate(double bits_per_key, uint32_t probes) {
  return FilterFalsePositiveRate(1e6, 1e6 * bits_per_key / 512, probes);
}

TEST(FilterSizingTest, RatesAsSimulated) {
  // From an independent simulation of 2 * 10^6 keys.
  EXPECT_NEAR(Rate(8, 5), 0.0219812, 0.0005);
  EXPECT_NEAR(Rate(10, 7), 0.0084954, 0.0002);
  EXPECT_NEAR(Rate(12, 8), 0.0033264, 0.0001);
  EXPECT_NEAR(Rate(16, 10), 0.00054, 0.00002);
  EXPECT_NEAR(Rate(20, 12), 0.000094, 0.000005);
}

TEST(FilterSizingTest, RatesAtTheEdges) {
  EXPECT_EQ(FilterFalsePositiveRate(0, 10, 7), 0);
  EXPECT_EQ(FilterFalsePositiveRate(10, 0, 7), 1);
  EXPECT_NEAR(FilterFalsePositiveRate(1e6, 1, 7), 1, 1e-9);
}

TEST(FilterSizingTest, ProbesGrowWithTheBits) {
  EXPECT_EQ(ChooseProbes(1), 1u);
  EXPECT_EQ(ChooseProbes(10), 7u);
  EXPECT_NEAR(ChooseProbes(16), 10, 1);  // 10 and 11 are as good
  EXPECT_EQ(ChooseProbes(50), kMaxProbes);
  for (double bits = 1; bits < 50; bits += 0.5) {
    EXPECT_LE(ChooseProbes(bits), ChooseProbes(bits + 0.5));
  }
}

TEST(FilterSizingTest, TheTrailerCountsAsPartOfTheBits) {
  for (const size_t keys : {1ul, 10ul, 1000ul, 123456ul}) {
    FilterShape shape;
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

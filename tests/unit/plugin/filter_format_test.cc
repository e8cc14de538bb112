#include "plugin/filter_format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/filter_hash.h"

namespace rocksync {
namespace {

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

std::string Trailer(const TableFilterShape& shape) {
  std::string trailer(kFilterTrailerBytes, 0);
  EncodeFilterTrailer(shape, trailer.data());
  return trailer;
}

TEST(FilterFormatTest, TrailerAsDocumented) {
  TableFilterShape shape;
  shape.seed = 0x0123456789abcdef;
  shape.line_count = 1;
  shape.probes = {5, 2};
  EXPECT_EQ(Hex(Trailer(shape)),
            "efcdab8967452301"  // seed
            "01000000"          // lines
            "05"                // probes in the first line
            "02"                // and in the second
            "00"                // padding
            "00"                // reserved
            "74e6f3ed"          // checksum
            "72736601");        // "rsf", version 1
}

TEST(FilterFormatTest, DecodesWhatItEncodes) {
  for (const uint32_t lines : {0u, 1u, 2u, 64u}) {
    for (const uint32_t padding : {0u, 48u, 63u}) {
      TableFilterShape shape;
      shape.seed = ~uint64_t{0};
      shape.line_count = lines;
      shape.probes = {8, 6};
      shape.padding = padding;
      const std::string filter =
          std::string(shape.bytes() - kFilterTrailerBytes, 0) + Trailer(shape);
      TableFilterShape decoded;
      ASSERT_TRUE(DecodeFilterTrailer(filter.data(), filter.size(), &decoded));
      EXPECT_EQ(decoded.seed, shape.seed);
      EXPECT_EQ(decoded.line_count, shape.line_count);
      EXPECT_EQ(decoded.probes.first, shape.probes.first);
      EXPECT_EQ(decoded.probes.second, shape.probes.second);
      EXPECT_EQ(decoded.padding, shape.padding);
    }
  }
}

class DamagedTrailerTest : public testing::Test {
 protected:
  DamagedTrailerTest() {
    shape_.seed = 42;
    shape_.line_count = 3;
    shape_.probes = {5, 2};
    filter_ = std::string(shape_.bytes() - kFilterTrailerBytes, 'x') +
              Trailer(shape_);
  }
  static bool Decodes(const std::string& bytes) {
    TableFilterShape shape;
    return DecodeFilterTrailer(bytes.data(), bytes.size(), &shape);
  }
  TableFilterShape shape_;
  std::string filter_;
};

TEST_F(DamagedTrailerTest, EveryBitOfTheTrailerIsChecked) {
  ASSERT_TRUE(Decodes(filter_));
  for (size_t bit = 0; bit < 8 * kFilterTrailerBytes; ++bit) {
    std::string damaged = filter_;
    char& byte = damaged[filter_.size() - kFilterTrailerBytes + bit / 8];
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
    EXPECT_FALSE(Decodes(damaged)) << "bit " << bit;
  }
}

TEST_F(DamagedTrailerTest, EveryOtherLengthIsRefused) {
  for (size_t cut = 1; cut <= filter_.size(); ++cut) {
    EXPECT_FALSE(Decodes(filter_.substr(cut))) << cut;
    EXPECT_FALSE(Decodes(filter_.substr(0, filter_.size() - cut))) << cut;
  }
  EXPECT_FALSE(Decodes("x" + filter_));
}

TEST_F(DamagedTrailerTest, ValuesOutOfRangeAreRefusedThoughTheChecksumFits) {
  for (const FilterProbes probes :
       {FilterProbes{0, 2}, FilterProbes{9, 2}, FilterProbes{255, 2},
        FilterProbes{5, 0}, FilterProbes{5, 9}}) {
    TableFilterShape shape = shape_;
    shape.probes = probes;
    EXPECT_FALSE(
        Decodes(std::string(3 * kFilterLineBytes, 0) + Trailer(shape)));
  }
  TableFilterShape padded = shape_;
  padded.padding = 64;
  EXPECT_FALSE(
      Decodes(std::string(3 * kFilterLineBytes + 64, 0) + Trailer(padded)));
  TableFilterShape huge = shape_;
  huge.line_count = ~0u;
  EXPECT_FALSE(Decodes(Trailer(huge)));
}

TEST(FilterHasherTest, IsXxh3AtEveryLength) {
  std::string key;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{42}, ~uint64_t{0},
                              uint64_t{0x0123456789abcdef}}) {
    const FilterHasher hash(seed);
    key.clear();
    for (size_t length = 0; length < 600; ++length) {
      ASSERT_EQ(hash(key.data(), key.size()),
                XXH3_64bits_withSeed(key.data(), key.size(), seed))
          << length;
      key += static_cast<char>(length * 151 + seed);
    }
  }
}

TEST(LocateLinesTest, AllLinesAreInTheFilterAndBothAreUsedAlike) {
  for (const uint32_t line_count : {1u, 2u, 3u, 5u, 64u, 65u, 66u, 1000u}) {
    constexpr uint32_t kPerLine = 2000;
    const uint32_t window = FilterWindow(line_count);
    std::vector<uint32_t> first(line_count);
    std::vector<uint32_t> second(line_count);
    for (uint64_t i = 0; i < uint64_t{kPerLine} * line_count; ++i) {
      const uint64_t hash =
          HashFilterKey(reinterpret_cast<const char*>(&i), sizeof(i), 1);
      const FilterLines at = LocateLines(hash, line_count, window);
      ASSERT_LT(at.first, line_count);
      ASSERT_LT(at.second, line_count);
      if (line_count > 1) {
        ASSERT_NE(at.first, at.second);
      }
      ++first[at.first];
      ++second[at.second];
    }
    for (uint32_t line = 0; line < line_count; ++line) {
      EXPECT_NEAR(first[line], kPerLine, 300) << line << " of " << line_count;
      EXPECT_NEAR(second[line], kPerLine, 300) << line << " of " << line_count;
    }
  }
}

TEST(LocateLinesTest, LinesDependOnTheUpperHalfAndBitsOnTheLower) {
  const uint32_t window = FilterWindow(kMaxFilterLines);
  for (uint64_t i = 1; i < 1000; ++i) {
    const uint64_t hash = i * 0x9e3779b97f4a7c15;
    const FilterLines a = LocateLines(hash, kMaxFilterLines, window);
    const FilterLines b =
        LocateLines(hash ^ 0xffffffff, kMaxFilterLines, window);
    EXPECT_EQ(a.first, b.first);
    EXPECT_EQ(a.second, b.second);
    EXPECT_EQ(ProbeBit(hash, 3), ProbeBit(hash ^ (uint64_t{i} << 32), 3));
  }
}

TEST(LocateLinesTest, ExtremesOfTheHash) {
  for (const uint32_t line_count : {1u, 2u, 65u, kMaxFilterLines}) {
    const uint32_t window = FilterWindow(line_count);
    for (const uint64_t hash : {uint64_t{0}, ~uint64_t{0}}) {
      const FilterLines at = LocateLines(hash, line_count, window);
      EXPECT_LT(at.first, line_count);
      EXPECT_LT(at.second, line_count);
    }
  }
}

}  // namespace
}  // namespace rocksync

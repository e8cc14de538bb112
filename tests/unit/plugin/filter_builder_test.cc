#include "plugin/filter_builder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "plugin/filter_reader.h"
#include "rocksync/filter_policy.h"

namespace rocksync {
namespace {

uint64_t FixedSeed() { return 0x0123456789abcdef; }

FilterBuilderConfig Config(double bits_per_key, FilterProbes probes) {
  FilterBuilderConfig config;
  config.bits_per_key = bits_per_key;
  config.probes = probes;
  config.new_seed = FixedSeed;
  return config;
}

class FilterBuilderTest : public testing::Test {
 protected:
  FilterBuilderTest() : FilterBuilderTest(Config(10, {5, 2})) {}
  explicit FilterBuilderTest(const FilterBuilderConfig& config)
      : builder_(config, table_) {}

  std::string Finish() {
    std::unique_ptr<const char[]> owned;
    return builder_.Finish(&owned).ToString();
  }
  // By a reader of these bytes.
  static bool MayMatch(const std::string& filter, const rocksdb::Slice& key) {
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        NewFilterReader(filter, BestFilterKernel()));
    return reader == nullptr || reader->MayMatch(key);
  }

  rocksdb::BlockBasedTableOptions table_;
  FilterBuilder builder_;
};

// The worked example of docs/filter_format.md.
TEST_F(FilterBuilderTest, WorkedExample) {
  builder_.AddKey("rocksync");
  const std::string filter = Finish();
  std::string set_bits;
  for (size_t bit = 0; bit < 512; ++bit) {
    if (filter[bit / 8] >> (bit % 8) & 1) {
      set_bits += " " + std::to_string(bit);
    }
  }
  EXPECT_EQ(set_bits, " 35 55 70 123 158 283 449");
  std::string trailer;
  for (size_t i = 64; i < filter.size(); ++i) {
    char hex[3];
    std::snprintf(hex, sizeof(hex), "%02x",
                  static_cast<unsigned char>(filter[i]));
    trailer += hex;
  }
  EXPECT_EQ(trailer, "efcdab8967452301010000000502000074e6f3ed72736601");
  EXPECT_TRUE(MayMatch(filter, "rocksync"));
  EXPECT_FALSE(MayMatch(filter, "rocksyncd"));
}

TEST_F(FilterBuilderTest, NoKeys) {
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 0u);
  const std::string filter = Finish();
  EXPECT_EQ(filter.size(), kFilterTrailerBytes);
  EXPECT_FALSE(MayMatch(filter, ""));
  EXPECT_FALSE(MayMatch(filter, "a"));
}

TEST_F(FilterBuilderTest, OddKeys) {
  const std::vector<std::string> keys = {
      "", std::string(1, '\0'), std::string(1 << 20, 'x'),
      std::string((1 << 20) + 1, 'x'), std::string(129, '\xff')};
  for (const std::string& key : keys) builder_.AddKey(key);
  builder_.AddKey(rocksdb::Slice(nullptr, 0));
  const std::string filter = Finish();
  for (const std::string& key : keys) EXPECT_TRUE(MayMatch(filter, key));
  EXPECT_TRUE(MayMatch(filter, rocksdb::Slice(nullptr, 0)));
}

TEST_F(FilterBuilderTest, NeighbouringRepetitionsCountOnce) {
  for (int i = 0; i < 1000; ++i) builder_.AddKey("same");
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 1u);
  for (int i = 0; i < 1000; ++i) builder_.AddKey(i % 2 == 0 ? "a" : "b");
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 1001u);
}

TEST_F(FilterBuilderTest, KeysWithPrefixes) {
  builder_.AddKeyAndPrefix("aa1", "aa");
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 2u);
  builder_.AddKeyAndPrefix("aa2", "aa");  // known prefix
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 3u);
  builder_.AddKeyAndPrefix("aa2", "aa");  // known key and prefix
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 3u);
  builder_.AddKeyAndPrefix("bb", "bb");  // its own prefix
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 4u);
  builder_.AddKeyAndPrefix("bb1", "bb");  // prefix was a key
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 5u);
  builder_.AddKeyAndPrefix("c1", "c");
  builder_.AddKeyAndPrefix("c", "d");  // key was a prefix
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 8u);
  const std::string filter = Finish();
  for (const char* key : {"aa1", "aa2", "aa", "bb", "bb1", "c1", "c", "d"}) {
    EXPECT_TRUE(MayMatch(filter, key)) << key;
  }
}

TEST_F(FilterBuilderTest, StartsAnewAfterEachFinish) {
  for (int filter_number = 0; filter_number < 70; ++filter_number) {
    const std::string base = std::to_string(filter_number) + "/";
    for (int i = 0; i < 300; ++i) builder_.AddKey(base + std::to_string(i));
    ASSERT_EQ(builder_.EstimateEntriesAdded(), 300u);
    const std::string filter = Finish();
    ASSERT_EQ(builder_.EstimateEntriesAdded(), 0u);
    ASSERT_EQ(filter.size(), builder_.SpaceFor(300));
    int strangers = 0;
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(MayMatch(filter, base + std::to_string(i)));
      strangers += MayMatch(filter, "-" + base + std::to_string(i));
    }
    ASSERT_LT(strangers, 20);
  }
  // The last key of one filter is a new key of the next.
  builder_.AddKey("z");
  Finish();
  builder_.AddKey("z");
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 1u);
}

TEST_F(FilterBuilderTest, SpaceAndEntriesAgree) {
  for (size_t entries = 1; entries < 100'000; entries = entries * 3 / 2 + 1) {
    const size_t bytes = builder_.SpaceFor(entries);
    if (bytes > kFilterTrailerBytes + kFilterLineBytes) {
      EXPECT_GE(builder_.ApproximateNumEntries(bytes), entries);
    }
  }
  EXPECT_EQ(builder_.ApproximateNumEntries(0), 0u);
  EXPECT_EQ(builder_.SpaceFor(0), kFilterTrailerBytes);
  EXPECT_NEAR(builder_.FalsePositiveRate(100'000, builder_.SpaceFor(100'000)),
              0.0085, 0.0003);
  EXPECT_EQ(builder_.FalsePositiveRate(1, 0), 1);
  EXPECT_EQ(builder_.FalsePositiveRate(0, 0), 0);
}

TEST_F(FilterBuilderTest, LargeFiltersArePaddedSmallOnesAreNot) {
  builder_.AddKey("a");
  TableFilterShape shape;
  std::string filter = Finish();
  ASSERT_TRUE(DecodeFilterTrailer(filter.data(), filter.size(), &shape));
  EXPECT_EQ(shape.padding, 0u);
  std::unique_ptr<const char[]> owned;
  for (int i = 0; i < 200'000; ++i) builder_.AddKey(std::to_string(i));
  const rocksdb::Slice large = builder_.Finish(&owned);
  ASSERT_TRUE(DecodeFilterTrailer(large.data(), large.size(), &shape));
  EXPECT_EQ((reinterpret_cast<uintptr_t>(large.data()) + shape.padding) % 64,
            0u);
  for (int i = 0; i < 200'000; ++i) {
    ASSERT_TRUE(MayMatch(large.ToString(), std::to_string(i)));
    if (i == 100) i = 199'900;
  }
}

// Beyond 8 MiB keys are added in another order, which no bit shows.
TEST_F(FilterBuilderTest, HugeFiltersHaveTheSameBits) {
  constexpr uint64_t kKeys = 1'600'000;
  FilterBuilder builder(Config(50, {8, 8}), table_);
  const FilterHasher hash(FixedSeed());
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const rocksdb::Slice key(reinterpret_cast<const char*>(&i), sizeof(i));
    builder.AddKey(key);
    hashes.push_back(hash(key.data(), key.size()));
  }
  std::unique_ptr<const char[]> owned;
  const rocksdb::Slice filter = builder.Finish(&owned);
  TableFilterShape shape;
  ASSERT_TRUE(DecodeFilterTrailer(filter.data(), filter.size(), &shape));
  ASSERT_GT(filter.size(), size_t{9} << 20);
  const size_t line_bytes = size_t{shape.line_count} * kFilterLineBytes;
  std::string expected(line_bytes, 0);
  BestFilterKernel().add(expected.data(), shape, hashes.data(), hashes.size());
  EXPECT_TRUE(std::memcmp(filter.data() + shape.padding, expected.data(),
                          line_bytes) == 0);
}

TEST(FilterSeedTest, EveryFilterHasItsOwn) {
  const rocksdb::BlockBasedTableOptions table;
  FilterBuilderConfig config = Config(10, {5, 2});
  config.new_seed = RandomFilterSeed;
  FilterBuilder builder(config, table);
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) {
    builder.AddKey("a");
    std::unique_ptr<const char[]> owned;
    const rocksdb::Slice filter = builder.Finish(&owned);
    TableFilterShape shape;
    ASSERT_TRUE(DecodeFilterTrailer(filter.data(), filter.size(), &shape));
    seeds.insert(shape.seed);
  }
  EXPECT_EQ(seeds.size(), 100u);
}

class DetectCorruptionTest : public FilterBuilderTest {
 protected:
  DetectCorruptionTest()
      : FilterBuilderTest([] {
          FilterBuilderConfig config = Config(10, {5, 2});
          config.detect_corruption = true;
          return config;
        }()) {}
};

TEST_F(DetectCorruptionTest, GoodFiltersPass) {
  for (int filter_number = 0; filter_number < 5; ++filter_number) {
    for (int i = 0; i < 10'000; ++i) builder_.AddKey(std::to_string(i));
    std::unique_ptr<const char[]> owned;
    rocksdb::Status status;
    const rocksdb::Slice filter = builder_.Finish(&owned, &status);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(builder_.MaybePostVerify(filter).ok());
  }
}

TEST_F(DetectCorruptionTest, AMissingBitIsNoticed) {
  builder_.AddKey("a");
  std::unique_ptr<const char[]> owned;
  rocksdb::Status status;
  std::string filter = builder_.Finish(&owned, &status).ToString();
  for (size_t i = 0; i < 64; ++i) filter[i] = 0;
  EXPECT_TRUE(builder_.MaybePostVerify(filter).IsCorruption());
}

TEST_F(DetectCorruptionTest, ADamagedTrailerIsNoticed) {
  builder_.AddKey("a");
  std::unique_ptr<const char[]> owned;
  rocksdb::Status status;
  std::string filter = builder_.Finish(&owned, &status).ToString();
  filter[filter.size() - 20] ^= 1;
  EXPECT_TRUE(builder_.MaybePostVerify(filter).IsCorruption());
}

TEST_F(DetectCorruptionTest, NextFilterStartsAnewThoughNothingWasVerified) {
  builder_.AddKey("a");
  Finish();
  builder_.AddKey("a");
  EXPECT_EQ(builder_.EstimateEntriesAdded(), 1u);
  EXPECT_EQ(Finish().size(), builder_.SpaceFor(1));
}

}  // namespace
}  // namespace rocksync

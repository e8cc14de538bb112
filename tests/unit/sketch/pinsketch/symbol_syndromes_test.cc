#include "sketch/pinsketch/symbol_syndromes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <vector>

namespace rocksync {
namespace {

constexpr size_t kPlaces = 200;

// `count` places, each with a value that is not 0.
std::vector<SymbolDifference> RandomDifferences(const Field& field,
                                                size_t count,
                                                std::mt19937_64* random) {
  std::map<uint32_t, uint32_t> values;
  while (values.size() < count) {
    const auto value = static_cast<uint32_t>((*random)()) & field.mask();
    if (value != 0) values[(*random)() % kPlaces] = value;
  }
  std::vector<SymbolDifference> differences;
  for (const auto& [place, value] : values) {
    differences.push_back({place, value});
  }
  return differences;
}

std::vector<uint32_t> SyndromesOf(
    const Field& field, const std::vector<SymbolDifference>& differences,
    uint32_t count) {
  std::vector<uint32_t> symbols(kPlaces, 0);
  for (const SymbolDifference& one : differences) {
    symbols[one.place] = one.value;
  }
  return SymbolSyndromes(field, symbols, kPlaces, 0, count);
}

TEST(SymbolSyndromes, AreSumsOfSymbolsTimesPowersOfPlaces) {
  const Field field(8);
  const std::vector<uint32_t> symbols = {7, 0, 255, 1};
  // Groups of two places; syndromes 0 to 2.
  const std::vector<uint32_t> expected = {
      7, 7, 7, 254, 255 ^ field.Multiply(1, 2), 255 ^ field.Multiply(2, 2)};
  EXPECT_EQ(SymbolSyndromes(field, symbols, 2, 0, 3), expected);
}

TEST(SymbolSyndromes, LaterOnesContinueTheFirst) {
  const Field field(9);
  std::mt19937_64 random(1);
  std::vector<uint32_t> symbols(512);
  for (uint32_t& symbol : symbols) symbol = random() & field.mask();
  const std::vector<uint32_t> all = SymbolSyndromes(field, symbols, 128, 0, 12);
  const std::vector<uint32_t> later =
      SymbolSyndromes(field, symbols, 128, 5, 7);
  // A group alone is no different.
  const std::vector<uint32_t> alone =
      SymbolSyndromes(field, std::span(symbols).first(128), 128, 5, 7);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), later.begin()));
  for (size_t group = 0; group < 4; ++group) {
    for (size_t j = 0; j < 7; ++j) {
      EXPECT_EQ(later[group * 7 + j], all[group * 12 + 5 + j]);
    }
  }
}

// A long group is summed in blocks.
TEST(SymbolSyndromes, OfALongGroupAreTheSameSums) {
  std::mt19937_64 random(3);
  for (const int bits : {11, 17, 20}) {
    const Field field(bits);
    for (const size_t places : {257, 511, 512, 1024, 1500}) {
      std::vector<uint32_t> symbols(places);
      for (uint32_t& symbol : symbols) symbol = random() & field.mask();
      std::vector<uint32_t> expected;
      for (uint32_t j = 0; j < 40; ++j) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < places; ++i) {
          uint32_t product = symbols[i];
          for (uint32_t e = 0; e < j; ++e) {
            product = field.Multiply(product, i + 1);
          }
          sum ^= product;
        }
        expected.push_back(sum);
      }
      EXPECT_EQ(SymbolSyndromes(field, symbols, places, 0, 40), expected);
      expected.erase(expected.begin(), expected.begin() + 9);
      EXPECT_EQ(SymbolSyndromes(field, symbols, places, 9, 31), expected)
          << bits << " bits, " << places << " places";
    }
  }
}

TEST(DecodeSymbols, FindsAsManyDifferencesAsHalfTheSyndromes) {
  std::mt19937_64 random(2);
  for (const int bits : {8, 9, 12, 17}) {
    const Field field(bits);
    for (size_t count = 0; count <= 40; ++count) {
      const auto differences = RandomDifferences(field, count, &random);
      const auto syndromes =
          SyndromesOf(field, differences, static_cast<uint32_t>(2 * count));
      std::vector<SymbolDifference> decoded;
      ASSERT_TRUE(DecodeSymbols(field, syndromes, kPlaces, &decoded))
          << bits << " bits, " << count << " differences";
      EXPECT_EQ(decoded, differences);
    }
  }
}

TEST(DecodeSymbols, NoticesMoreDifferencesThanItCanFind) {
  std::mt19937_64 random(3);
  const Field field(17);
  for (int i = 0; i < 200; ++i) {
    const auto differences = RandomDifferences(field, 11, &random);
    std::vector<SymbolDifference> decoded;
    EXPECT_FALSE(DecodeSymbols(field, SyndromesOf(field, differences, 20),
                               kPlaces, &decoded))
        << "11 differences, 20 syndromes, sample " << i;
  }
}

// Differences at places that are known to be doubtful take one syndrome each,
// also where there is no difference after all; others take two.
TEST(DecodeSymbols, DoubtfulPlacesTakeOneSyndrome) {
  std::mt19937_64 random(4);
  for (const int bits : {8, 9, 13}) {
    const Field field(bits);
    for (size_t count = 0; count <= 40; count += 5) {
      for (const size_t others : {0, 1, 3}) {
        auto differences = RandomDifferences(field, count + others, &random);
        std::vector<uint32_t> doubtful;
        std::vector<SymbolDifference> shuffled = differences;
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        for (size_t i = 0; i < count; ++i)
          doubtful.push_back(shuffled[i].place);
        const uint32_t equal = kPlaces;  // a place without a difference
        doubtful.push_back(equal);
        std::sort(doubtful.begin(), doubtful.end());
        differences.push_back({equal, 0});
        const size_t syndromes = count + 1 + 2 * others;
        std::vector<SymbolDifference> decoded;
        ASSERT_TRUE(DecodeSymbols(
            field,
            SyndromesOf(field, shuffled, static_cast<uint32_t>(syndromes)),
            kPlaces + 1, doubtful, &decoded))
            << bits << " bits, " << count << " and " << others;
        EXPECT_EQ(decoded, differences);
      }
    }
  }
}

TEST(DecodeSymbols, NoticesMoreThanDoubtfulPlacesTell) {
  std::mt19937_64 random(5);
  const Field field(13);
  const auto differences = RandomDifferences(field, 20, &random);
  std::vector<uint32_t> doubtful;
  for (size_t i = 0; i < 15; ++i) doubtful.push_back(differences[i].place);
  std::vector<SymbolDifference> decoded;
  // Five others take ten syndromes.
  for (uint32_t syndromes = 0; syndromes < 25; ++syndromes) {
    EXPECT_FALSE(DecodeSymbols(field,
                               SyndromesOf(field, differences, syndromes),
                               kPlaces, doubtful, &decoded) &&
                 decoded.size() > 17)
        << syndromes;
  }
  EXPECT_TRUE(DecodeSymbols(field, SyndromesOf(field, differences, 25), kPlaces,
                            doubtful, &decoded));
  EXPECT_EQ(decoded, differences);
}

TEST(DecodeSymbols, TakesNoPlaceThatIsNotThere) {
  const Field field(8);
  const std::vector<SymbolDifference> far = {{150, 3}};
  std::vector<SymbolDifference> decoded;
  const auto syndromes = SyndromesOf(field, far, 4);
  EXPECT_TRUE(DecodeSymbols(field, syndromes, 151, &decoded));
  EXPECT_FALSE(DecodeSymbols(field, syndromes, 150, &decoded));
}

}  // namespace
}  // namespace rocksync

#include "sketch/element/element.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sketch/element/coding.h"
#include "sketch/element/digest.h"

namespace rocksync {
namespace {

ClusterSecret CountingSecret() {
  ClusterSecret secret;
  for (size_t i = 0; i < secret.size(); ++i) {
    secret[i] = static_cast<uint8_t>(i);
  }
  return secret;
}

constexpr Version kVersion = {.time = 0x0102030405060708,
                              .replica = 0x1112131415161718};
constexpr ValueHash kValue = {.high = 0x2122232425262728,
                              .low = 0x3132333435363738};

// SHA-256 by the one-shot interface, cut as element.h says.
ElementHash CutSha256(const std::string& bytes) {
  std::array<unsigned char, 32> digest;
  unsigned int size = 0;
  EXPECT_EQ(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size,
                       EVP_sha256(), nullptr),
            1);
  std::string_view input(reinterpret_cast<const char*>(digest.data()), size);
  ElementHash hash;
  EXPECT_TRUE(GetFixed64(&input, &hash.high) && GetFixed64(&input, &hash.low));
  return hash;
}

TEST(ElementTest, PairIsTheDocumentedBytes) {
  std::string bytes;
  for (const uint8_t byte : CountingSecret()) PutFixed8(&bytes, byte);
  bytes += std::string(
      "\0\0\0\x03"
      "fam"
      "\0\0\0\x04"
      "keys",
      15);
  bytes += "\x01\x02\x03\x04\x05\x06\x07\x08";
  bytes += "\x11\x12\x13\x14\x15\x16\x17\x18";
  bytes += '\x01';
  bytes += "\x21\x22\x23\x24\x25\x26\x27\x28\x31\x32\x33\x34\x35\x36\x37\x38";
  const ElementHasher hasher(CountingSecret());
  EXPECT_EQ(hasher.HashPair("fam", "keys", kVersion, kValue), CutSha256(bytes));
}

TEST(ElementTest, TombstoneIsTheDocumentedBytes) {
  std::string bytes;
  for (const uint8_t byte : CountingSecret()) PutFixed8(&bytes, byte);
  bytes += std::string(
      "\0\0\0\0"
      "\0\0\0\x01"
      "k",
      9);
  bytes += "\x01\x02\x03\x04\x05\x06\x07\x08";
  bytes += "\x11\x12\x13\x14\x15\x16\x17\x18";
  bytes += '\0';
  const ElementHasher hasher(CountingSecret());
  EXPECT_EQ(hasher.HashTombstone("", "k", kVersion), CutSha256(bytes));
}

TEST(ElementTest, FrozenValues) {
  const ElementHasher hasher(CountingSecret());
  const ElementHash pair = hasher.HashPair("default", "key", kVersion, kValue);
  EXPECT_EQ(pair.high, 0xcb1a1869ee16f0c5u);
  EXPECT_EQ(pair.low, 0xe248e5352a12d909u);
  const ElementHash tombstone =
      hasher.HashTombstone("default", "key", kVersion);
  EXPECT_EQ(tombstone.high, 0xf6df354c86f1e0abu);
  EXPECT_EQ(tombstone.low, 0x68d46d642d80707au);
  const ValueHash value = ElementHasher::HashIssuedValue("value");
  EXPECT_EQ(value.high, 0xd7ab8cce59abd505u);
  EXPECT_EQ(value.low, 0x0d59506fb013961au);
  const ValueHash empty = ElementHasher::HashIssuedValue("");
  EXPECT_EQ(empty.high, 0x99aa06d3014798d8u);  // XXH3-128 of nothing, published
  EXPECT_EQ(empty.low, 0x6001c324468d497fu);
  EXPECT_EQ(hasher.Position("default", "key"), 0x733f8280e1130b28u);
  EXPECT_EQ(hasher.Position("default", std::string(1000, 'k')),
            0xfe1feb933ac8b7b1u);
}

TEST(ElementTest, AValueIsHashedByItsVersion) {
  const ElementHasher hasher(CountingSecret());
  EXPECT_EQ(hasher.HashValue(kVersion, "value"),
            ElementHasher::HashIssuedValue("value"));
  std::string bytes = "rocksync adopted value";
  for (const uint8_t byte : CountingSecret()) PutFixed8(&bytes, byte);
  const ElementHash cut = CutSha256(bytes + "value");
  EXPECT_EQ(hasher.HashValue({}, "value"), (ValueHash{cut.high, cut.low}));
  EXPECT_EQ(cut.high, 0x88bc7d6dd1ac9802u);
  EXPECT_EQ(cut.low, 0x3555938f0dbf07d0u);
}

// XXH3 multiplies the two halves of each word, mixed with public bytes, and
// adds the word itself elsewhere: with one half made 0 in two words, what is
// moved from the one's other half to the other's stays unseen.
TEST(ElementTest, UnversionedValuesThatCollideByXxh3Differ) {
  std::string one(512, '\0');
  one.replace(0, 5, "\xb8\xfe\x6c\x39\x01");
  one.replace(64, 5, "\x7c\x01\x81\x2c\x02");
  std::string other = one;
  std::swap(other[4], other[68]);
  ASSERT_NE(one, other);
  ASSERT_EQ(ElementHasher::HashIssuedValue(one),
            ElementHasher::HashIssuedValue(other));
  const ElementHasher hasher(CountingSecret());
  EXPECT_NE(hasher.HashValue({}, one), hasher.HashValue({}, other));
}

TEST(ElementTest, NoPartRunsIntoAnother) {
  const ElementHasher hasher(CountingSecret());
  std::set<ElementHash> hashes;
  std::set<uint64_t> positions;
  for (const auto& [family, key] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"a", ""},
                                                        {"", "a"},
                                                        {"a", "b"},
                                                        {"ab", ""},
                                                        {"", "ab"},
                                                        {"a", "bc"},
                                                        {"ab", "c"}}) {
    EXPECT_TRUE(hashes.insert(hasher.HashTombstone(family, key, {})).second);
    EXPECT_TRUE(hashes.insert(hasher.HashPair(family, key, {}, {})).second);
    EXPECT_TRUE(positions.insert(hasher.Position(family, key)).second);
  }
}

// Around the size where the computation of positions changes its way.
TEST(ElementTest, PositionsDoNotDependOnHowFamilyAndKeyAreCut) {
  const ElementHasher hasher(CountingSecret());
  std::set<uint64_t> seen;
  for (size_t size = 200; size < 300; ++size) {
    EXPECT_TRUE(
        seen.insert(hasher.Position("f", std::string(size, 'x'))).second);
  }
  EXPECT_EQ(hasher.Position("f", std::string(235, 'x')), 0x97541423318a255cu);
  EXPECT_EQ(hasher.Position("f", std::string(236, 'x')), 0xa09bc0d98c83831au);
}

TEST(ElementTest, SecretsMatter) {
  const ElementHasher one(CountingSecret());
  ClusterSecret other_secret = CountingSecret();
  other_secret[31] ^= 1;
  const ElementHasher other(other_secret);
  EXPECT_NE(one.HashPair("f", "k", kVersion, kValue),
            other.HashPair("f", "k", kVersion, kValue));
  EXPECT_NE(one.Position("f", "k"), other.Position("f", "k"));
}

TEST(ElementTest, SharedBetweenThreads) {
  const ElementHasher hasher(CountingSecret());
  const ElementHash expected = hasher.HashPair("f", "k", kVersion, kValue);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(hasher.HashPair("f", "k", kVersion, kValue), expected);
        ASSERT_NE(hasher.HashTombstone("f", "k", kVersion), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DigestTest, AddAndRemoveInAnyOrder) {
  const ElementHash a = {.high = ~uint64_t{0}, .low = ~uint64_t{0}};
  const ElementHash b = {.high = 7, .low = 1};
  Digest digest;
  digest.Remove(b);
  digest.Add(a);
  digest.Add(b);
  digest.Add(b);
  digest.Remove(a);
  Digest expected;
  expected.Add(b);
  EXPECT_EQ(digest, expected);
  digest.Add(b);  // twice the same element shows
  digest.Remove(a);
  EXPECT_NE(digest, expected);
}

TEST(DigestTest, EveryPartCounts) {
  const Digest digest = {.count = 1, .high = 2, .low = 3};
  EXPECT_EQ(digest, (Digest{.count = 1, .high = 2, .low = 3}));
  EXPECT_NE(digest, (Digest{.count = 0, .high = 2, .low = 3}));
  EXPECT_NE(digest, (Digest{.count = 1, .high = 0, .low = 3}));
  EXPECT_NE(digest, (Digest{.count = 1, .high = 2, .low = 0}));
}

TEST(DigestTest, CarriesAcrossTheHalves) {
  Digest digest;
  digest.Add({.high = 1, .low = ~uint64_t{0}});
  digest.Add({.high = 2, .low = 1});
  EXPECT_EQ(digest.high, 4u);
  EXPECT_EQ(digest.low, 0u);
  EXPECT_EQ(digest.count, 2u);
  digest.Remove({.high = 2, .low = 1});
  EXPECT_EQ(digest.high, 1u);
  EXPECT_EQ(digest.low, ~uint64_t{0});
}

// A sum tells sets apart only as far as their elements look random. Of values
// with structure, two sets with one sum and one count are at hand: a + (a + 3d)
// = (a + d) + (a + 2d). So nothing but keyed hashes may be summed up.
ElementHash Structured(uint64_t i) {
  return {.high = 0x0123456789abcdef, .low = 1000 + 7 * i};
}

template <typename HashOf>
bool SumsCollide(HashOf hash_of, uint64_t first, uint64_t step) {
  Digest outer;
  outer.Add(hash_of(first));
  outer.Add(hash_of(first + 3 * step));
  Digest inner;
  inner.Add(hash_of(first + step));
  inner.Add(hash_of(first + 2 * step));
  return outer == inner;
}

TEST(DigestTest, SumsOfStructuredValuesCollideThoseOfKeyedHashesDoNot) {
  // As arithmetic progressions of keys, values and versions would be hashed.
  const ElementHasher hasher(CountingSecret());
  const auto by_key = [&](uint64_t i) {
    std::string key;
    PutFixed64(&key, i);
    return hasher.HashPair("fam", key, kVersion, kValue);
  };
  const auto by_value = [&](uint64_t i) {
    return hasher.HashPair("fam", "key", kVersion, {.high = 0, .low = i});
  };
  const auto by_version = [&](uint64_t i) {
    return hasher.HashPair("fam", "key", {.time = i, .replica = 1}, kValue);
  };
  for (uint64_t first = 0; first < 50; ++first) {
    for (uint64_t step = 1; step < 20; ++step) {
      EXPECT_TRUE(SumsCollide(Structured, first, step));
      EXPECT_FALSE(SumsCollide(by_key, first, step));
      EXPECT_FALSE(SumsCollide(by_value, first, step));
      EXPECT_FALSE(SumsCollide(by_version, first, step));
    }
  }
}

}  // namespace
}  // namespace rocksync

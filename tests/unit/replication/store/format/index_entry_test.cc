// docs/index_format.md in literal bytes: entries.

#include "replication/store/format/index_entry.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/replication/store/format/literal_bytes.h"

namespace rocksync {
namespace {

constexpr uint64_t kHome = 0x1112131415161718;

std::string Entry(const StoredEntry& entry) {
  std::string bytes;
  AppendEntry(&bytes, entry, kHome);
  return bytes;
}

const std::string kHash =
    Bytes({0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xb0, 0xb1, 0xb2,
           0xb3, 0xb4, 0xb5, 0xb6, 0xb7});

StoredEntry WithHash(const Version& version) {
  StoredEntry entry;
  entry.version = version;
  entry.hash_high = 0xa0a1a2a3a4a5a6a7;
  entry.hash_low = 0xb0b1b2b3b4b5b6b7;
  return entry;
}

TEST(IndexEntryTest, EntriesOfEveryKind) {
  const std::string time = Bytes({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(Entry(WithHash({})), Bytes({0x00}) + kHash);
  EXPECT_EQ(Entry(WithHash({0x0102030405060708, kHome})),
            Bytes({0x08}) + time + kHash);
  EXPECT_EQ(Entry(WithHash({0x0102030405060708, 0x2122232425262728})),
            Bytes({0x10}) + time +
                Bytes({0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28}) +
                kHash);
  StoredEntry entry = WithHash({0x0102030405060708, kHome});
  entry.tombstone = true;
  EXPECT_EQ(Entry(entry), Bytes({0x09}) + time + kHash);
  entry.tombstone = false;
  entry.pending = true;
  EXPECT_EQ(Entry(entry), Bytes({0x0a}) + time + kHash);
  entry.tombstone = true;
  EXPECT_EQ(Entry(entry), Bytes({0x0b}) + time) << "nothing to make it from";
  entry.tombstone = false;
  entry.quarantined = true;
  EXPECT_EQ(Entry(entry), Bytes({0x0e}) + time + kHash);
}

TEST(IndexEntryTest, EntriesComeBackAndDamageIsSeen) {
  for (const uint64_t replica : {kHome, uint64_t{5}}) {
    for (int flags = 0; flags < 8; ++flags) {
      StoredEntry entry = WithHash({77, replica});
      entry.tombstone = (flags & 1) != 0;
      entry.pending = (flags & 2) != 0;
      entry.quarantined = (flags & 4) != 0;
      const std::string bytes = Entry(entry);
      StoredEntry parsed;
      ASSERT_TRUE(ParseEntry(bytes, kHome, &parsed));
      EXPECT_EQ(Entry(parsed), bytes);
      EXPECT_EQ(parsed.version, entry.version);
      for (size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(ParseEntry(bytes.substr(0, size), kHome, &parsed));
      }
      EXPECT_FALSE(ParseEntry(bytes + "x", kHome, &parsed));
      for (const int unknown : {0x20, 0x40, 0x80, 0x18}) {
        std::string newer = bytes;
        newer[0] = static_cast<char>(newer[0] | unknown);
        EXPECT_FALSE(ParseEntry(newer, kHome, &parsed)) << unknown;
      }
    }
  }
}

// A pending entry stands for the same element as the completed one.
TEST(IndexEntryTest, PendingEntriesComplete) {
  ClusterSecret secret;
  secret.fill(3);
  const ElementHasher hasher(secret);
  const std::string_view value = "value";
  const Version version{5, 6};
  EXPECT_EQ(CompleteHash(hasher, "f", "k", IssuedEntry(version, &value)),
            hasher.HashPair("f", "k", version,
                            ElementHasher::HashIssuedValue(value)));
  EXPECT_EQ(
      CompleteHash(hasher, "f", "k", PendingEntry(hasher, version, &value)),
      CompleteHash(hasher, "f", "k", IssuedEntry(version, &value)));
  EXPECT_EQ(CompleteHash(hasher, "f", "k", PendingEntry(hasher, {}, &value)),
            hasher.HashPair("f", "k", {}, hasher.HashValue({}, value)));
  EXPECT_EQ(CompleteHash(hasher, "f", "k", IssuedEntry(version, nullptr)),
            hasher.HashTombstone("f", "k", version));
}

TEST(IndexEntryTest, OnlyTombstonesUpToTheStableTimeAreCollected) {
  StoredEntry entry = WithHash({77, 5});
  EXPECT_FALSE(IsCollected(entry, 77));
  entry.tombstone = true;
  EXPECT_TRUE(IsCollected(entry, 77));
  EXPECT_FALSE(IsCollected(entry, 76));
}

}  // namespace
}  // namespace rocksync

// docs/index_format.md in literal bytes.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"

namespace rocksync {
namespace {

constexpr uint64_t kHome = 0x1112131415161718;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

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

TEST(IndexFormatTest, Keys) {
  std::string key;
  AppendIndexKey(&key, {0x0102030405060708, 300, "key"});
  EXPECT_EQ(key, Bytes({1, 2, 3, 4, 5, 6, 7, 8, 0xac, 0x02, 'k', 'e', 'y'}));
  IndexKey parsed;
  ASSERT_TRUE(ParseIndexKey(key, &parsed));
  EXPECT_EQ(parsed.position, 0x0102030405060708u);
  EXPECT_EQ(parsed.family_id, 300u);
  EXPECT_EQ(parsed.key, "key");
  EXPECT_EQ(MetaKey("seal"),
            Bytes({0, 0, 0, 0, 0, 0, 0, 0, 's', 'e', 'a', 'l'}));
  EXPECT_FALSE(ParseIndexKey(MetaKey("seal"), &parsed));
  EXPECT_FALSE(ParseIndexKey("short", &parsed));
  EXPECT_FALSE(ParseIndexKey(Bytes({1, 2, 3, 4, 5, 6, 7, 8, 0x80}), &parsed));
}

TEST(IndexFormatTest, EntriesOfEveryKind) {
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

TEST(IndexFormatTest, EntriesComeBackAndDamageIsSeen) {
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
TEST(IndexFormatTest, PendingEntriesComplete) {
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

TEST(IndexFormatTest, MetaRecords) {
  EXPECT_EQ(EncodeFormat(), Bytes({1}));
  EXPECT_EQ(EncodeLease(0x0102), Bytes({1, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(EncodeMark(std::string(16, 'm')),
            Bytes({1}) + std::string(16, 'm'));
  EXPECT_EQ(Encode(ClusterRecord{"c", std::string(16, 's')}),
            Bytes({1, 1, 'c'}) + std::string(16, 's'));
  EXPECT_EQ(
      Encode(IdentityRecord{1, 2, 3, 4, "db", "M"}),
      Bytes({1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,   2,   0, 0,
             0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 2, 'd', 'b', 1, 'M'}));
  EXPECT_EQ(Encode(IncarnationHistory{6, {{{7, 8}, 9}}}),
            Bytes({1, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 0, 0, 0,
                   7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9}));
  EXPECT_EQ(Encode(PlaceRecord{"/d", true}), Bytes({1, 2, '/', 'd', 1}));
  EXPECT_EQ(Encode(PlaceRecord{"/d", false, true}), Bytes({1, 2, '/', 'd', 2}));
  EXPECT_EQ(Encode(PlaceRecord{"/d", true, false, true}),
            Bytes({1, 2, '/', 'd', 5}));
  EXPECT_EQ(Encode(PlaceRecord{"/d", true, false, false, 6}),
            Bytes({1, 2, '/', 'd', 9, 0, 0, 0, 0, 0, 0, 0, 6}));
  EXPECT_EQ(Encode(std::vector<FamilyRecord>{{300, "f", kFamilyAdopting}}),
            Bytes({1, 1, 0xac, 0x02, 1, 'f', 1}));
  EXPECT_EQ(Encode(std::vector<FamilyRecord>{{300, "f", 0, true}}),
            Bytes({1, 1, 0xac, 0x02, 1, 'f', 4}));
  WorkRecord work;
  work.index_pass = true;
  work.sealed_sequence = 9;
  work.step = 1;
  work.family_id = 2;
  work.pairs_read = 3;
  work.cursor = "key";
  EXPECT_EQ(Encode(work), Bytes({1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 1, 2, 3, 3,
                                 'k', 'e', 'y'}));
  EXPECT_EQ(Encode(SealRecord{7, true, "M", 2, 3}),
            Bytes({1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 1, 'M', 0, 0,
                   0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,   0, 3}));
  EXPECT_EQ(Encode(std::vector<ForeignRange>{{300, true, "a", "z"}}),
            Bytes({1, 1, 0xac, 0x02, 1, 1, 'a', 1, 'z'}));
  EXPECT_EQ(Encode(PeerRecord{1, 2, 3}),
            Bytes({1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                   0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3}));
  ScrubRecord scrub;
  scrub.running = true;
  scrub.step = 1;
  scrub.family_id = 2;
  scrub.pairs = 3;
  scrub.finished_ms = 4;
  scrub.cursor = "key";
  EXPECT_EQ(Encode(scrub),
            Bytes({1, 1, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 4, 3, 'k', 'e', 'y'}));
  EXPECT_EQ(DigestKey(5), std::string(8, '\0') + "digests/" + Bytes({5}));
  EXPECT_EQ(PeerKey(6),
            std::string(8, '\0') + "peer/" + Bytes({0, 0, 0, 0, 0, 0, 0, 6}));
  const Digest digest{1, 2, 3};
  EXPECT_EQ(EncodeDigests(&digest, 1),
            Bytes({1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                   0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3}));
  const LeafTombstones leaves[] = {{}, {300, 0x0102}};
  EXPECT_EQ(TombstonesKey(5),
            std::string(8, '\0') + "tombstones/" + Bytes({5}));
  EXPECT_EQ(EncodeTombstones(leaves, 2),
            Bytes({1, 0, 0xac, 0x02, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(Encode(LeafQuarantined{}), Bytes({1, 0}));
  EXPECT_EQ(Encode(LeafQuarantined{{2, 300}, {300, 1}}),
            Bytes({1, 2, 2, 0xac, 0x02, 0xac, 0x02, 1}));
  EXPECT_EQ(EncodeSwept(0x0102), Bytes({1, 0, 0, 0, 0, 0, 0, 1, 2}));
  GcState gc;
  gc.stable_time = 0x0102;
  gc.purged = 0x0103;
  gc.reached = {4, 5};
  gc.max_acknowledged = 0x0106;
  EXPECT_EQ(Encode(gc),
            Bytes({1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1,
                   3, 0, 0, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 1, 6, 0}));
}

TEST(IndexFormatTest, TombstonesOfLeavesComeBackAndDamageIsSeen) {
  const LeafTombstones leaves[] = {{}, {300, 0x0102}, {1, 0}};
  const std::string bytes = EncodeTombstones(leaves, 3);
  LeafTombstones parsed[3];
  ASSERT_TRUE(DecodeTombstones(bytes, parsed, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(parsed[i], leaves[i]);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeTombstones(bytes.substr(0, size), parsed, 3)) << size;
  }
  EXPECT_FALSE(DecodeTombstones(bytes + "x", parsed, 3));
}

TEST(IndexFormatTest, QuarantinedOfLeavesComeBackAndDamageIsSeen) {
  const LeafQuarantined quarantined = {{2, 300}, {299, 1}};
  const std::string bytes = Encode(quarantined);
  LeafQuarantined parsed;
  ASSERT_TRUE(DecodeQuarantined(bytes, 300, &parsed));
  EXPECT_EQ(parsed, quarantined);
  EXPECT_FALSE(DecodeQuarantined(bytes, 299, &parsed)) << "no such leaf";
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeQuarantined(bytes.substr(0, size), 300, &parsed))
        << size;
  }
  EXPECT_FALSE(DecodeQuarantined(bytes + "x", 300, &parsed));
  EXPECT_FALSE(DecodeQuarantined(Bytes({1, 1, 2, 0}), 300, &parsed)) << "none";
  EXPECT_FALSE(DecodeQuarantined(Bytes({1, 2, 2, 1, 2, 1}), 300, &parsed))
      << "one leaf twice";
}

TEST(IndexFormatTest, OnlyTombstonesUpToTheStableTimeAreCollected) {
  StoredEntry entry = WithHash({77, 5});
  EXPECT_FALSE(IsCollected(entry, 77));
  entry.tombstone = true;
  EXPECT_TRUE(IsCollected(entry, 77));
  EXPECT_FALSE(IsCollected(entry, 76));
}

template <typename Record>
void ExpectRobust(const Record& record) {
  const std::string bytes = Encode(record);
  Record parsed;
  ASSERT_TRUE(Decode(bytes, &parsed));
  EXPECT_EQ(Encode(parsed), bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(bytes.substr(0, size), &parsed)) << size;
  }
  EXPECT_FALSE(Decode(bytes + "x", &parsed));
  std::string newer = bytes;
  newer[0] = 2;
  EXPECT_FALSE(Decode(newer, &parsed));
}

TEST(IndexFormatTest, MetaRecordsComeBackAndDamageIsSeen) {
  std::string mark;
  ASSERT_TRUE(DecodeMark(EncodeMark(std::string(16, 'm')), &mark));
  EXPECT_EQ(mark, std::string(16, 'm'));
  for (const size_t size : {0, 15, 17}) {
    EXPECT_FALSE(DecodeMark(EncodeMark(std::string(size, 'm')), &mark));
  }
  ExpectRobust(ClusterRecord{"cluster", std::string(16, 's')});
  ExpectRobust(IdentityRecord{1, 2, 3, 4, "identity", "manifest"});
  ExpectRobust(IncarnationHistory{6, {{{7, 8}, 9}, {{8, 10}, 11}}});
  ExpectRobust(PlaceRecord{"/directory", true, true, true});
  ExpectRobust(PlaceRecord{"/directory", true, true, true, 7});
  ExpectRobust(
      std::vector<FamilyRecord>{{0, "default", 0}, {7, "second", 3, true}});
  WorkRecord work;
  work.purge = true;
  work.cursor = "cursor";
  ExpectRobust(work);
  ExpectRobust(SealRecord{7, true, "manifest", 2, 3});
  ExpectRobust(std::vector<ForeignRange>{
      {0, true, "a", "b"}, {7, false, "c", std::string(300, 'd')}});
  ExpectRobust(PeerRecord{1, 2, 3});
  ScrubRecord scrub;
  scrub.running = true;
  scrub.cursor = "cursor";
  ExpectRobust(scrub);
  GcState gc;
  ASSERT_TRUE(gc.SetMembers(1, {1, 2}, 1).ok());
  ExpectRobust(gc);
}

}  // namespace
}  // namespace rocksync

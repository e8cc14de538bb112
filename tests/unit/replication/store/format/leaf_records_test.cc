// docs/index_format.md in literal bytes: records of leaves.

#include "replication/store/format/leaf_records.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/replication/store/format/literal_bytes.h"

namespace rocksync {
namespace {

TEST(LeafRecordsTest, Bytes) {
  EXPECT_EQ(DigestKey(5), std::string(8, '\0') + "digests/" + Bytes({5}));
  const Digest digests[] = {{}, {}, {300, 2, 3}, {1, 0, 4}, {}};
  EXPECT_EQ(EncodeDigests(digests, 5), Bytes({1, 2,                       //
                                              2, 0xac, 2,                 //
                                              0, 0,    0, 0, 0, 0, 0, 2,  //
                                              0, 0,    0, 0, 0, 0, 0, 3,  //
                                              0, 1,                       //
                                              0, 0,    0, 0, 0, 0, 0, 0,  //
                                              0, 0,    0, 0, 0, 0, 0, 4}));
  EXPECT_EQ(EncodeDigests(digests, 2), Bytes({1, 0}));
  const LeafTombstones leaves[] = {{}, {300, 0x0102}};
  EXPECT_EQ(TombstonesKey(5),
            std::string(8, '\0') + "tombstones/" + Bytes({5}));
  EXPECT_EQ(EncodeTombstones(leaves, 2),
            Bytes({1, 1, 1, 0xac, 0x02, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(Encode(LeafQuarantined{}), Bytes({1, 0}));
  EXPECT_EQ(Encode(LeafQuarantined{{2, 300}, {300, 1}}),
            Bytes({1, 2, 2, 0xac, 0x02, 0xac, 0x02, 1}));
}

TEST(LeafRecordsTest, DigestsOfLeavesComeBackAndDamageIsSeen) {
  // A count of 0 with a sum is what damage may have left.
  const Digest digests[] = {{}, {300, 1, 2}, {0, 0, 3}, {}, {1, 4, 0}, {}};
  const std::string bytes = EncodeDigests(digests, 6);
  Digest parsed[6];
  ASSERT_TRUE(DecodeDigests(bytes, parsed, 6));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(parsed[i], digests[i]);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeDigests(bytes.substr(0, size), parsed, 6)) << size;
  }
  EXPECT_FALSE(DecodeDigests(bytes + "x", parsed, 6));
  EXPECT_FALSE(DecodeDigests(bytes, parsed, 4)) << "no such leaf";
  EXPECT_FALSE(
      DecodeDigests(Bytes({1, 1, 0, 0}) + std::string(16, '\0'), parsed, 6))
      << "an empty leaf";
}

TEST(LeafRecordsTest, TombstonesOfLeavesComeBackAndDamageIsSeen) {
  const LeafTombstones leaves[] = {{}, {300, 0x0102}, {1, 0}};
  const std::string bytes = EncodeTombstones(leaves, 3);
  LeafTombstones parsed[3];
  ASSERT_TRUE(DecodeTombstones(bytes, parsed, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(parsed[i], leaves[i]);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeTombstones(bytes.substr(0, size), parsed, 3)) << size;
  }
  EXPECT_FALSE(DecodeTombstones(bytes + "x", parsed, 3));
  EXPECT_FALSE(DecodeTombstones(bytes, parsed, 2)) << "no such leaf";
  EXPECT_FALSE(
      DecodeTombstones(Bytes({1, 1, 0, 0}) + std::string(8, '\0'), parsed, 3))
      << "an empty leaf";
}

TEST(LeafRecordsTest, QuarantinedOfLeavesComeBackAndDamageIsSeen) {
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

}  // namespace
}  // namespace rocksync

// docs/index_format.md in literal bytes: records of the library.

#include "replication/store/format/meta_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "tests/unit/replication/store/format/literal_bytes.h"

namespace rocksync {
namespace {

TEST(MetaRecordsTest, Bytes) {
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
  EXPECT_EQ(PeerKey(6),
            std::string(8, '\0') + "peer/" + Bytes({0, 0, 0, 0, 0, 0, 0, 6}));
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

TEST(MetaRecordsTest, ComeBackAndDamageIsSeen) {
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

#include "replication/session/messages.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/session/pair_coding.h"
#include "replication/session/storage_view.h"

namespace rocksync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}
std::string Bytes(std::string_view hex) {
  return absl::HexStringToBytes({hex.data(), hex.size()});
}

constexpr Digest kDigest = {
    .count = 1'000'000, .high = 0x0123456789abcdef, .low = 0x1122334455667788};
constexpr char kDigestHex[] = "c0843d0123456789abcdef1122334455667788";

void ExpectMalformed(const absl::Status& status, std::string_view what) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(what)));
}

TEST(HelloTest, TwentyBytesForAMillionElements) {
  std::string body;
  uint8_t flags = 0xff;
  EncodeHello({.digest = kDigest}, &body, &flags);
  EXPECT_EQ(Hex(body), kDigestHex);
  EXPECT_EQ(flags, 0);
  Hello hello;
  ASSERT_TRUE(DecodeHello(body, flags, &hello).ok());
  EXPECT_EQ(hello.digest, kDigest);
  EXPECT_FALSE(hello.bloom || hello.batches || hello.prefer_round_trips);
}

TEST(HelloTest, Options) {
  std::string body;
  uint8_t flags = 0;
  EncodeHello({.digest = kDigest,
               .prefer_round_trips = true,
               .bloom = true,
               .false_positive_rate = 0x8000,
               .batches = true},
              &body, &flags);
  EXPECT_EQ(Hex(body), std::string(kDigestHex) + "038000");
  EXPECT_EQ(flags, kFlagPreferRoundTrips | kFlagHelloExtended);
  Hello hello;
  ASSERT_TRUE(DecodeHello(body, flags, &hello).ok());
  EXPECT_TRUE(hello.bloom && hello.batches && hello.prefer_round_trips);
  EXPECT_EQ(hello.false_positive_rate, 0x8000);
}

TEST(HelloTest, OfLittleMemory) {
  Hello hello{.digest = kDigest};
  hello.batch_bits = 12;
  hello.left_out = 1;
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  EXPECT_EQ(Hex(body), std::string(kDigestHex) + "300c01");
  Hello decoded;
  ASSERT_TRUE(DecodeHello(body, flags, &decoded).ok());
  EXPECT_EQ(decoded.batch_bits, 12);
  body[body.size() - 2] = kAssumedBatchBits;
  EXPECT_EQ(DecodeHello(body, flags, &decoded).message(),
            "Hello: no batch bits");
}

TEST(HelloTest, ToCompare) {
  Hello hello{.digest = kDigest};
  hello.verify = true;
  hello.keys_only = true;
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  EXPECT_EQ(Hex(body), std::string(kDigestHex) + "0c");
  Hello decoded;
  ASSERT_TRUE(DecodeHello(body, flags, &decoded).ok());
  EXPECT_TRUE(decoded.verify);
  EXPECT_TRUE(decoded.keys_only);
  EXPECT_FALSE(decoded.bloom);
}

TEST(HelloTest, PairsLeftOut) {
  Hello hello{.digest = kDigest};
  hello.left_out = 300;
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  EXPECT_EQ(Hex(body), std::string(kDigestHex) + "10ac02");
  Hello decoded;
  ASSERT_TRUE(DecodeHello(body, flags, &decoded).ok());
  EXPECT_EQ(decoded.left_out, 300u);
  for (const char* wrong : {"10", "1000", "10ac", "10ac0200"}) {
    ExpectMalformed(DecodeHello(Bytes(std::string(kDigestHex) + wrong),
                                kFlagHelloExtended, &decoded),
                    "Hello");
  }
}

TEST(HelloTest, Refused) {
  Hello hello;
  const std::string body = Bytes(kDigestHex);
  for (size_t size = 0; size < body.size(); ++size) {
    ExpectMalformed(DecodeHello(body.substr(0, size), 0, &hello), "Hello");
  }
  ExpectMalformed(DecodeHello(body + "x", 0, &hello), "too long");
  ExpectMalformed(DecodeHello(body, kFlagHelloExtended, &hello), "options");
  ExpectMalformed(DecodeHello(body + "\x40", kFlagHelloExtended, &hello),
                  "options");
  ExpectMalformed(DecodeHello(body + "\x08", kFlagHelloExtended, &hello),
                  "not to compare");
  ExpectMalformed(
      DecodeHello(body + Bytes("010000"), kFlagHelloExtended, &hello),
      "false positive rate");
}

TEST(SummaryTest, LiteralBytes) {
  std::string body;
  EncodeSummary({.digest = kDigest, .left_out = 0}, &body);
  EXPECT_EQ(Hex(body), kDigestHex);
  Summary summary;
  ASSERT_TRUE(DecodeSummary(body, &summary).ok());
  EXPECT_EQ(summary.digest, kDigest);
  EXPECT_EQ(summary.left_out, 0u);
  for (size_t size = 0; size < body.size(); ++size) {
    ExpectMalformed(DecodeSummary(body.substr(0, size), &summary), "Summary");
  }
}

TEST(SummaryTest, PairsLeftOut) {
  std::string body;
  EncodeSummary({.digest = kDigest, .left_out = 300}, &body);
  EXPECT_EQ(Hex(body), std::string(kDigestHex) + "ac02");
  Summary summary;
  ASSERT_TRUE(DecodeSummary(body, &summary).ok());
  EXPECT_EQ(summary.digest, kDigest);
  EXPECT_EQ(summary.left_out, 300u);
  for (const char* wrong : {"00", "ac", "ac0200", "8000"}) {
    ExpectMalformed(
        DecodeSummary(Bytes(std::string(kDigestHex) + wrong), &summary),
        "Summary");
  }
}

TEST(EqualTest, PairsLeftOut) {
  std::string body;
  EncodeLeftOut(0, &body);
  EXPECT_EQ(Hex(body), "");
  uint64_t left_out = 7;
  ASSERT_TRUE(DecodeLeftOut(MessageType::kEqual, body, &left_out).ok());
  EXPECT_EQ(left_out, 0u);
  EncodeLeftOut(300, &body);
  EXPECT_EQ(Hex(body), "ac02");
  ASSERT_TRUE(DecodeLeftOut(MessageType::kEqual, body, &left_out).ok());
  EXPECT_EQ(left_out, 300u);
  for (const char* wrong : {"00", "ac", "ac0200"}) {
    ExpectMalformed(DecodeLeftOut(MessageType::kEqual, Bytes(wrong), &left_out),
                    "Equal");
  }
}

TEST(CountTest, LiteralBytes) {
  std::string body;
  EncodeCount(300, &body);
  EXPECT_EQ(Hex(body), "ac02");
  uint64_t count = 0;
  ASSERT_TRUE(DecodeCount(MessageType::kDiffers, body, &count).ok());
  EXPECT_EQ(count, 300u);
  ExpectMalformed(DecodeCount(MessageType::kLocate, "", &count), "Locate");
  ExpectMalformed(DecodeCount(MessageType::kDiffers, Bytes("8000"), &count),
                  "Differs");
}

TEST(LeafBatchTest, LeavesAreRuns) {
  std::string body;
  EncodeLeafBatch({{3, 4, 5, 10, 65535}, kDigest, 0}, &body);
  EXPECT_EQ(Hex(body),
            "03"        // three runs
            "0701"      // skip 3, take 1 + 2
            "08"        // skip 4, take 1
            "e8ff07" +  // skip 65524, take 1
                std::string(kDigestHex));
  LeafBatchHead batch;
  ASSERT_TRUE(DecodeLeafBatch(body, &batch).ok());
  EXPECT_THAT(batch.leaves, ElementsAre(3, 4, 5, 10, 65535));
  EXPECT_EQ(batch.digest, kDigest);
}

TEST(LeafBatchTest, AllLeavesAreFewBytes) {
  LeafBatchHead batch;
  for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf)
    batch.leaves.push_back(leaf);
  std::string body;
  EncodeLeafBatch(batch, &body);
  EXPECT_EQ(Hex(body).substr(0, 10), "0101feff03");
  LeafBatchHead decoded;
  ASSERT_TRUE(DecodeLeafBatch(body, &decoded).ok());
  EXPECT_EQ(decoded.leaves, batch.leaves);
}

TEST(LeafBatchTest, ThoseOfASearchAreGaps) {
  const LeafBatchHead batch = {{3, 70, 300, 9000, 65535}, kDigest, 300, 150};
  std::string body;
  EncodeLeafBatch(batch, &body);
  EXPECT_EQ(Hex(body.substr(0, 6)), "00ac02960105");
  LeafBatchHead decoded;
  ASSERT_TRUE(DecodeLeafBatch(body, &decoded).ok());
  EXPECT_EQ(decoded.leaves, batch.leaves);
  EXPECT_EQ(decoded.digest, batch.digest);
  EXPECT_EQ(decoded.expected, batch.expected);
  EXPECT_EQ(decoded.overwritten, batch.overwritten);
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeLeafBatch(body.substr(0, size), &decoded).ok()) << size;
  }
  ExpectMalformed(DecodeLeafBatch(body + "\1", &decoded), "not as many leaves");
}

TEST(LeafBatchTest, NeighboursAreRunsWhateverIsExpected) {
  const LeafBatchHead batch = {{3, 4, 5, 6, 7, 8, 9, 65535}, kDigest, 300};
  std::string body;
  EncodeLeafBatch(batch, &body);
  EXPECT_EQ(Hex(body),
            "00ac0200"  // expected, and none of them overwritten
            "00"        // no gaps
            "02"        // two runs
            "0705"      // skip 3, take 5 + 2
            "eaff07" +  // skip 65525, take 1
                std::string(kDigestHex));
  LeafBatchHead decoded;
  ASSERT_TRUE(DecodeLeafBatch(body, &decoded).ok());
  EXPECT_EQ(decoded.leaves, batch.leaves);
  EXPECT_EQ(decoded.digest, batch.digest);
  EXPECT_EQ(decoded.expected, batch.expected);
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeLeafBatch(body.substr(0, size), &decoded).ok()) << size;
  }
  ExpectMalformed(DecodeLeafBatch(body + "\1", &decoded), "digest");
  ExpectMalformed(DecodeLeafBatch(Bytes("0001000000"), &decoded), "no leaves");
}

TEST(LeafBatchTest, ManyOfASearchTakeFewBitsEach) {
  LeafBatchHead batch;
  for (uint32_t leaf = 0; leaf < kLeafCount; leaf += 64 + leaf % 5) {
    batch.leaves.push_back(leaf);
  }
  batch.expected = batch.leaves.size();
  std::string body;
  EncodeLeafBatch(batch, &body);
  EXPECT_LT(body.size(), batch.leaves.size());
}

TEST(LeafBatchTest, Refused) {
  LeafBatchHead batch;
  ExpectMalformed(DecodeLeafBatch("", &batch), "no leaves");
  ExpectMalformed(DecodeLeafBatch(Bytes("0000"), &batch), "no leaves");
  ExpectMalformed(DecodeLeafBatch(Bytes("000100"), &batch), "no leaves");
  ExpectMalformed(DecodeLeafBatch(Bytes("ffffffffffffffffff01"), &batch),
                  "no leaves");
  ExpectMalformed(DecodeLeafBatch(Bytes("02"), &batch), "truncated");
  ExpectMalformed(DecodeLeafBatch(Bytes("01808008"), &batch), "out of range");
  ExpectMalformed(DecodeLeafBatch(Bytes("0103ffff03"), &batch), "out of range");
  ExpectMalformed(DecodeLeafBatch(Bytes("0100"), &batch), "digest");
}

std::string WantsHex(const std::vector<bool>& wants) {
  std::string body;
  EncodeWants(wants, &body);
  std::vector<bool> decoded;
  EXPECT_TRUE(DecodeWants(body, wants.size(), &decoded).ok());
  EXPECT_EQ(decoded, wants);
  return Hex(body);
}

TEST(WantsTest, LiteralBytes) {
  EXPECT_EQ(WantsHex(std::vector<bool>(1000, true)), "");
  EXPECT_EQ(WantsHex(std::vector<bool>(1000, false)), "0000");
  std::vector<bool> all_but_one(1000, true);
  all_but_one[500] = false;
  EXPECT_EQ(WantsHex(all_but_one), "00f40301");
  EXPECT_EQ(WantsHex({true, false, true, true, false, true, false, true, true,
                      false}),
            "01ad01");
}

TEST(WantsTest, AllSmallOnesComeBack) {
  for (size_t size = 1; size <= 10; ++size) {
    for (unsigned bits = 0; bits < 1u << size; ++bits) {
      std::vector<bool> wants(size);
      for (size_t i = 0; i < size; ++i) wants[i] = (bits >> i & 1) != 0;
      WantsHex(wants);
    }
  }
}

TEST(WantsTest, Refused) {
  std::vector<bool> wants;
  ExpectMalformed(DecodeWants(Bytes("000b"), 10, &wants), "exceed");
  ExpectMalformed(DecodeWants(Bytes("01ff"), 10, &wants), "does not fit");
  ExpectMalformed(DecodeWants(Bytes("01ffff"), 10, &wants), "spare bits");
  ExpectMalformed(DecodeWants(Bytes("02"), 10, &wants), "unknown form");
}

TEST(EndTest, LiteralBytes) {
  std::string body;
  EncodeEnd({EndReason::kUnavailable, "adopting, 43 %"}, &body);
  EXPECT_EQ(Hex(body), "02" + Hex("adopting, 43 %"));
  struct End end;
  ASSERT_TRUE(DecodeEnd(body, &end).ok());
  EXPECT_EQ(end.text, "adopting, 43 %");
  ASSERT_TRUE(DecodeEnd("\x02 a\x1b\xff", &end).ok());
  EXPECT_EQ(end.text, R"( a\x1b\xff)") << "which is for people";
  ExpectMalformed(DecodeEnd("", &end), "unknown reason");
  ExpectMalformed(DecodeEnd(Bytes("09"), &end), "unknown reason");
  ExpectMalformed(DecodeEnd("\x01" + std::string(513, 'x'), &end), "too long");
}

// --- Pairs ------------------------------------------------------------------

TEST(PairCodingTest, LiteralBytes) {
  std::string body;
  PairEncoder encoder(&body);
  encoder.Add({.family = 0,
               .key = "k1",
               .version = {.time = 1000u << 16 | 5, .replica = 7},
               .kind = WirePair::Kind::kWithValue,
               .value_size = 3,
               .value = "abc",
               .hash = {}});
  encoder.Add({.family = 2,
               .key = "k2",
               .version = {.time = 999u << 16, .replica = 7},
               .kind = WirePair::Kind::kTombstone,
               .value_size = 0,
               .value = {},
               .hash = {}});
  encoder.Add({.family = 0,
               .key = "",
               .version = {},
               .kind = WirePair::Kind::kOnRequest,
               .value_size = 100,
               .value = {},
               .hash = {.high = 1, .low = 2}});
  EXPECT_EQ(Hex(body),
            "00"
            "026b31"  // family 0, "k1"
            "a11f"
            "05"  // +1000 ms, counter 5
            "00"
            "0000000000000007"  // the first replica, 7
            "0d"
            "616263"  // 3 bytes, with value
            "02"
            "026b32"  // family 2, "k2"
            "02"      // -1 ms, no counter
            "00"      // replica 7 again
            "00"      // tombstone
            "00"
            "00"    // family 0, ""
            "9a1f"  // -999 ms
            "01"
            "0000000000000000"  // the second replica, 0
            "9203"              // 100 bytes, on request
            "0000000000000001"
            "0000000000000002");
}

TEST(PairCodingTest, VersionsComeBack) {
  const std::vector<Version> versions = {
      {},
      {.time = ~uint64_t{0}, .replica = ~uint64_t{0}},
      {.time = 1, .replica = 0},
      {.time = ~uint64_t{0} << 16, .replica = 5},
      {.time = uint64_t{1} << 63, .replica = 5},
      {.time = 0, .replica = 5}};
  for (const Version& a : versions) {
    for (const Version& b : versions) {
      for (const Version& c : versions) {
        std::string body;
        PairEncoder encoder(&body);
        for (const Version& version : {a, b, c}) {
          encoder.Add({.family = 0,
                       .key = "k",
                       .version = version,
                       .kind = WirePair::Kind::kTombstone,
                       .value_size = 0,
                       .value = {},
                       .hash = {}});
        }
        PairDecoder decoder(MessageType::kOffers, body);
        for (const Version& version : {a, b, c}) {
          WirePair pair;
          ASSERT_FALSE(decoder.done());
          ASSERT_TRUE(decoder.Next(&pair).ok());
          EXPECT_EQ(pair.version, version);
        }
        EXPECT_TRUE(decoder.done());
      }
    }
  }
}

absl::Status DecodeAll(std::string_view body) {
  PairDecoder decoder(MessageType::kPairs, body);
  while (!decoder.done()) {
    WirePair pair;
    absl::Status status = decoder.Next(&pair);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

TEST(PairCodingTest, Refused) {
  ExpectMalformed(DecodeAll(Bytes("ffffffff1f")), "key");
  ExpectMalformed(DecodeAll(Bytes("00056162")), "key");
  ExpectMalformed(DecodeAll(Bytes("00ffffffff0f")), "key");
  ExpectMalformed(DecodeAll(Bytes("000161")), "version");
  // A counter that is announced and 0, or above 16 bits; a time below 0 or
  // above 48 bits; the second of no replicas.
  ExpectMalformed(DecodeAll(Bytes("0001610100")), "version");
  ExpectMalformed(DecodeAll(Bytes("00016101ffff07")), "version");
  ExpectMalformed(DecodeAll(Bytes("00016102")), "version");
  ExpectMalformed(DecodeAll(Bytes("000161ffffffffffffff7f")), "version");
  ExpectMalformed(DecodeAll(Bytes("0001610001")), "version");
  const std::string head = "00016100000000000000000007";
  ExpectMalformed(DecodeAll(Bytes(head)), "truncated pair");
  ExpectMalformed(DecodeAll(Bytes(head + "03")), "unknown kind");
  ExpectMalformed(DecodeAll(Bytes(head + "04")), "tombstone with a value");
  ExpectMalformed(DecodeAll(Bytes(head + "0961")), "truncated");
  ExpectMalformed(DecodeAll(Bytes(head + "fdffffffffffffffff01")), "truncated");
}

TEST(PairCodingTest, UnversionedPairsOnRequestCarryTheirHash) {
  ExpectMalformed(DecodeAll(Bytes("00016100000000000000000000"
                                  "02")),
                  "truncated hash");
}

TEST(MessageNameTest, EveryTypeHasOne) {
  for (uint8_t type = 1; type <= kMaxMessageType; ++type) {
    EXPECT_NE(MessageName(static_cast<MessageType>(type)), "unknown message");
  }
  EXPECT_EQ(MessageName(MessageType::kEnd), "End");
  EXPECT_EQ(MessageName(MessageType::kStreamOpen), "StreamOpen");
  EXPECT_EQ(MessageName(static_cast<MessageType>(0)), "unknown message");
}

}  // namespace
}  // namespace rocksync

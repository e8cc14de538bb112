#include "replication/session/listing_coding.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

Held Live(uint64_t time, uint64_t replica) {
  return {Held::State::kLive, {.time = time, .replica = replica}, {1, 2}};
}

TEST(ListingCodingTest, LiteralBytes) {
  std::string body;
  ListingEncoder encoder(&body);
  encoder.AddClaim({3, "key", Live(uint64_t{5} << 16, 7)});
  encoder.AddClaim(
      {0, "", {Held::State::kTombstone, {(uint64_t{6} << 16) + 1, 7}, {}}});
  encoder.AddClaim({1, "x", {}});
  EXPECT_EQ(absl::BytesToHexString(body),
            "03"
            "03"
            "6b6579"
            "02"
            "14"
            "00"
            "0000000000000007"
            "0000000000000001"
            "0000000000000002"
            "00"
            "00"
            "01"
            "05"
            "01"
            "00"
            "01"
            "01"
            "78"
            "00");
}

TEST(ListingCodingTest, RoundTrip) {
  std::string body;
  ListingEncoder encoder(&body);
  const std::vector<Held> helds = {
      Live(uint64_t{9} << 16, 1),
      {},
      Live(3, 2),
      {Held::State::kTombstone, {.time = 77 << 16, .replica = 1}, {}}};
  for (const Held& held : helds) encoder.AddHeld(held);
  ListingDecoder decoder(MessageType::kHoldings, body);
  for (const Held& held : helds) {
    Held read;
    ASSERT_TRUE(decoder.NextHeld(&read).ok());
    EXPECT_TRUE(Same(read, held));
  }
  EXPECT_TRUE(decoder.done());
}

TEST(ListingCodingTest, RefusesWhatIsDamaged) {
  std::string body;
  ListingEncoder(&body).AddClaim({3, "key", Live(uint64_t{5} << 16, 7)});
  for (size_t cut = 1; cut < body.size(); ++cut) {
    const std::string part = body.substr(0, cut);
    ListingDecoder decoder(MessageType::kClaims, part);
    Claim claim;
    EXPECT_FALSE(decoder.NextClaim(&claim).ok()) << cut;
  }
  body[5] = 3;
  Claim claim;
  EXPECT_FALSE(
      ListingDecoder(MessageType::kClaims, body).NextClaim(&claim).ok())
      << "an unknown state";
}

}  // namespace
}  // namespace rocksync

// docs/protocol.md, "A session": bodies that the whole session does not show.

#include <string>
#include <string_view>
#include <vector>

#include "replication/session/difference.h"
#include "replication/session/listing_coding.h"
#include "replication/session/messages.h"
#include "replication/session/pair_coding.h"
#include "sketch/element/element.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {
namespace {

constexpr ElementHash kHash = {0xa0a1a2a3a4a5a6a7, 0xb0b1b2b3b4b5b6b7};

std::string OffersBody() {
  using Kind = WirePair::Kind;
  std::string body;
  PairEncoder encoder(&body);
  WirePair pair;
  pair.key = "a";
  pair.version = kVectorVersion;
  pair.kind = Kind::kOnRequest;
  pair.value_size = 300;
  encoder.Add(pair);
  pair = {};
  pair.family = 1;
  pair.key = "b";
  pair.version = {kVectorVersion.time - 3 * (1 << 16) - 5, 7};
  pair.kind = Kind::kTombstone;
  encoder.Add(pair);
  pair = {};
  pair.key = "c";
  pair.version = kVectorVersion;
  pair.kind = Kind::kWithValue;
  encoder.Add(pair);
  pair = {};
  pair.key = "d";
  pair.kind = Kind::kOnRequest;
  pair.value_size = 5;
  pair.hash = kHash;
  encoder.Add(pair);
  return body;
}

std::string ClaimsBody() {
  std::string body;
  ListingEncoder encoder(&body);
  encoder.AddClaim({0, "a", {}});
  encoder.AddClaim({0, "b", {Held::State::kTombstone, kVectorVersion, {}}});
  encoder.AddClaim({1, "c", {Held::State::kLive, kVectorVersion, kHash}});
  return body;
}

std::string WantsBody(const std::vector<bool>& wants) {
  std::string body;
  EncodeWants(wants, &body);
  return body;
}

}  // namespace

void AddMessageVectors(Vectors* vectors) {
  const auto add = [vectors](std::string_view name, std::string_view bytes) {
    vectors->push_back({std::string(name), std::string(bytes)});
  };
  Hello hello;
  hello.digest = {3, kHash.high, kHash.low};
  hello.bloom = true;
  hello.false_positive_rate = 0x4000;
  hello.batches = true;
  hello.batch_bits = 12;
  hello.left_out = 300;
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  add("message.hello", Fixed8(1 | flags) + body);
  body.clear();
  EncodeLeafBatch({{5, 6, 7, 100, 65535}, {3, kHash.high, kHash.low}}, &body);
  add("message.leaf_batch", body);
  add("message.offers", OffersBody());
  std::vector<bool> wants(20, true);
  add("message.wants.all", WantsBody(wants));
  wants[2] = wants[3] = false;
  add("message.wants.runs", WantsBody(wants));
  for (size_t i = 0; i < wants.size(); ++i) wants[i] = i % 3 == 0;
  add("message.wants.bitmap", WantsBody(wants));
  add("message.claims", ClaimsBody());
  body.clear();
  EncodeEnd({EndReason::kBusy, "in a session"}, &body);
  add("message.end", body);
}

}  // namespace rocksync

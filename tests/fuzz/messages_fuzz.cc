// Every decoder of messages on arbitrary bytes; what decodes is encoded and
// decoded again to the same.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "replication/admin/admin_messages.h"
#include "replication/membership/announcement.h"
#include "replication/membership/authentication.h"
#include "replication/membership/setup.h"
#include "replication/session/listing_coding.h"
#include "replication/session/messages.h"
#include "replication/session/pair_coding.h"
#include "replication/session/pure_leaves.h"
#include "replication/session/storage_view.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_messages.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void FuzzHello(std::string_view body, uint8_t flags) {
  Hello hello;
  if (!DecodeHello(body, flags, &hello).ok()) return;
  std::string again;
  uint8_t again_flags = 0;
  EncodeHello(hello, &again, &again_flags);
  Hello second;
  Require(DecodeHello(again, again_flags, &second).ok());
  Require(second.digest == hello.digest && second.bloom == hello.bloom &&
          second.batches == hello.batches &&
          second.batch_bits == hello.batch_bits);
}

void FuzzBatch(std::string_view body) {
  LeafBatchHead batch;
  if (!DecodeLeafBatch(body, &batch).ok()) return;
  Require(!batch.leaves.empty() && batch.leaves.size() <= kLeafCount);
  for (size_t i = 0; i < batch.leaves.size(); ++i) {
    Require(batch.leaves[i] < kLeafCount);
    Require(i == 0 || batch.leaves[i] > batch.leaves[i - 1]);
  }
  std::string again;
  EncodeLeafBatch(batch, &again);
  LeafBatchHead second;
  Require(DecodeLeafBatch(again, &second).ok() &&
          second.leaves == batch.leaves);
}

void FuzzFinds(std::string_view body, int symbol_bits) {
  PureLeavesHead finds;
  if (!DecodePureLeaves(body, symbol_bits, kLeafCount, &finds).ok()) return;
  Require(finds.unknown.size() + finds.asked.size() <= kLeafCount);
  std::string again;
  EncodePureLeaves(finds, symbol_bits, kLeafCount, &again);
  PureLeavesHead second;
  Require(DecodePureLeaves(again, symbol_bits, kLeafCount, &second).ok());
  Require(second.unknown == finds.unknown &&
          second.asked.size() == finds.asked.size());
  for (size_t i = 0; i < finds.asked.size(); ++i) {
    Require(second.asked[i].leaf == finds.asked[i].leaf &&
            second.asked[i].sum == finds.asked[i].sum);
  }
}

void FuzzFailed(std::string_view body, size_t asked) {
  FailedPureLeaves failed;
  if (!DecodeFailed(body, asked, &failed).ok()) return;
  Require(failed.failed.size() == asked);
  std::string again;
  EncodeFailed(failed, &again);
  Require(again == body);
}

void FuzzWants(std::string_view body, size_t offers) {
  std::vector<bool> wants;
  if (!DecodeWants(body, offers, &wants).ok()) return;
  Require(wants.size() == offers);
  std::string again;
  EncodeWants(wants, &again);
  std::vector<bool> second;
  Require(DecodeWants(again, offers, &second).ok() && second == wants);
}

void FuzzPairs(std::string_view body) {
  PairDecoder decoder(MessageType::kPairs, body);
  std::string again;
  PairEncoder encoder(&again);
  std::vector<Version> versions;
  while (!decoder.done()) {
    WirePair pair;
    if (!decoder.Next(&pair).ok()) return;
    encoder.Add(pair);
    versions.push_back(pair.version);
  }
  PairDecoder second(MessageType::kPairs, again);
  for (const Version& version : versions) {
    WirePair pair;
    Require(!second.done() && second.Next(&pair).ok());
    Require(pair.version == version);
  }
  Require(second.done());
}

void FuzzClaims(std::string_view body) {
  ListingDecoder decoder(MessageType::kClaims, body);
  std::string again;
  ListingEncoder encoder(&again);
  std::vector<Held> helds;
  while (!decoder.done()) {
    Claim claim;
    if (!decoder.NextClaim(&claim).ok()) return;
    encoder.AddClaim(claim);
    helds.push_back(claim.held);
  }
  ListingDecoder second(MessageType::kClaims, again);
  for (const Held& held : helds) {
    Claim claim;
    Require(!second.done() && second.NextClaim(&claim).ok());
    Require(Same(claim.held, held));
  }
  Require(second.done());
}

// What a set-up says of members also travels alone.
void FuzzAnnouncement(std::string_view message) {
  Announcement announcement;
  if (!announcement.DecodeFrom(message)) return;
  Require(announcement.Encode() == message);
}

void FuzzSetup(std::string_view body) {
  FuzzAnnouncement(body);
  SetupFacts facts;
  if (!DecodeSetup(body, &facts).ok()) return;
  std::string again;
  EncodeSetup(facts, &again);
  SetupFacts second;
  Require(DecodeSetup(again, &second).ok());
  Require(second.families == facts.families && second.cluster == facts.cluster);
  Require(second.gc == facts.gc);
}

void FuzzAdminRequest(std::string_view body) {
  AuthHello auth_hello;
  if (ReadAuthHello(std::string(1, static_cast<char>(MessageType::kAuthHello))
                        .append(body),
                    &auth_hello)
          .ok()) {
    AuthHello second;
    Require(ReadAuthHello(AuthHelloMessage(auth_hello), &second).ok());
    Require(second.cluster == auth_hello.cluster &&
            second.nonce == auth_hello.nonce);
  }
  AuthNonce nonce;
  ReadChallenge({1}, {}, "", body, &nonce).IgnoreError();
  ReadProof({1}, {}, "", "", body).IgnoreError();
  Reply reply;
  (void)ReadReply(
      std::string(1, static_cast<char>(MessageType::kReply)).append(body),
      &reply);
  // With a proof that holds, or nothing behind it would be reached.
  const ClusterSecret secret = {1};
  std::string text = "rocksync request";
  for (const std::string_view part :
       {std::string_view(), std::string_view(), body}) {
    PutLengthPrefixed(&text, part);
  }
  std::string message(1, static_cast<char>(MessageType::kRequest));
  message.append(Hmac128(secret, text)).append(body);
  Request request;
  if (!ReadRequest(secret, "", "", message, &request).ok()) return;
  Require(RequestMessage(secret, "", "", request) == message);
}

void FuzzStream(std::string_view body) {
  StreamOpen open;
  if (DecodeStreamOpen(body, &open).ok()) {
    StreamOpen second;
    Require(DecodeStreamOpen(EncodeStreamOpen(open), &second).ok());
    Require(second.window_bytes == open.window_bytes &&
            second.idle_timeout_ms == open.idle_timeout_ms &&
            second.zone == open.zone);
  }
  std::vector<Pair> pairs;
  if (DecodeChanges(body, 2, &pairs).ok()) {
    Require(!pairs.empty() && pairs.size() <= kMaxChangesInMessage);
    ChangesEncoder again;
    for (const Pair& pair : pairs) {
      again.Add(pair.family, pair.key, pair.version, pair.tombstone,
                pair.value);
    }
    std::vector<Pair> second;
    Require(DecodeChanges(again.message().substr(1), 2, &second).ok());
    Require(second.size() == pairs.size() &&
            second.back().value == pairs.back().value);
  }
  std::vector<Neighbour> neighbours;
  if (DecodeNeighbours(body, &neighbours).ok()) {
    Require(EncodeNeighbours(neighbours).substr(1) == body);
  }
  std::vector<uint64_t> list;
  if (DecodeStreamList(body, &list).ok()) {
    Require(EncodeStreamList(StreamMessageType::kGraft, list).substr(1) ==
            body);
  }
  uint64_t count = 0;
  if (DecodeStreamCount(body, &count).ok()) {
    Require(EncodeStreamCount(StreamMessageType::kGap, count).substr(1) ==
            body);
  }
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksync;
  if (size < 2) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2,
                              size - 2);
  Summary summary;
  uint64_t count = 0;
  struct End end;
  switch (data[0] % 13) {
    case 0:
      FuzzHello(body, data[1]);
      break;
    case 1:
      DecodeSummary(body, &summary).IgnoreError();
      DecodeLeftOut(MessageType::kEqual, body, &count).IgnoreError();
      break;
    case 2:
      DecodeCount(MessageType::kDiffers, body, &count).IgnoreError();
      break;
    case 3:
      FuzzBatch(body);
      break;
    case 4:
      FuzzWants(body, data[1]);
      break;
    case 5:
      FuzzPairs(body);
      break;
    case 6:
      FuzzSetup(body);
      break;
    case 7:
      DecodeEnd(body, &end).IgnoreError();
      break;
    case 8:
      FuzzClaims(body);
      break;
    case 9:
      FuzzAdminRequest(body);
      break;
    case 10:
      FuzzFinds(body, 8 + data[1] % 25);
      break;
    case 11:
      FuzzFailed(body, data[1]);
      break;
    case 12:
      FuzzStream(body);
      break;
  }
  return 0;
}

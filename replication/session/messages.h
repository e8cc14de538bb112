// The messages of a session as bytes. docs/protocol.md describes them in prose.
//
// Encoders append. Decoders take the whole body, bound every count before
// anything is allocated, and refuse bytes that are left over; their errors name
// what is wrong.

#ifndef ROCKSYNC_REPLICATION_SESSION_MESSAGES_H_
#define ROCKSYNC_REPLICATION_SESSION_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/message_type.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Flags of kHello: the sender prefers few round trips; an options byte follows
// the digest.
inline constexpr uint8_t kFlagPreferRoundTrips = 0x20;
inline constexpr uint8_t kFlagHelloExtended = 0x40;
// Flag of kDiffers: some elements that pure leaves asked for were not found.
inline constexpr uint8_t kFlagFailed = 0x20;
// Flag of kLocate: no exchange, as one side is empty or has many more elements;
// every leaf counts as different.
inline constexpr uint8_t kFlagEverything = 0x20;
// Flag of kLocate: leaves are searched for (leaf_search.h), rather than
// exchanged as elements.
inline constexpr uint8_t kFlagSearch = 0x40;
// Both flags of kLocate: the second search of a session, in finer leaves, as
// the first one took all leaves for different.
inline constexpr uint8_t kFlagFiner = kFlagEverything | kFlagSearch;
// Flag of kLeafBatch: the batch is the whole set, in which a search has found
// the elements that differ, or their leaves (pure_leaves.h).
inline constexpr uint8_t kFlagPureLeaves = 0x20;
// Flag of kSummary: the summary is of the whole set, not of the leaf batch.
inline constexpr uint8_t kFlagTotal = 0x20;
// Flag of kSummary: the sender refused or could not read a pair of this batch.
inline constexpr uint8_t kFlagRefused = 0x40;
// Flag of the last message of a turn, if that is kDiffers, kPayload, kPass, one
// of kOffers to kPairs, kClaims or kHoldings: the sender has nothing left to
// send but answers to what comes.
inline constexpr uint8_t kFlagIdle = 0x40;

// What a Hello that names no batch bits means: sessions with the default memory
// compare more elements at once.
inline constexpr uint8_t kAssumedBatchBits = 19;

struct Hello {
  Digest digest;  // of the whole snapshot
  bool prefer_round_trips = false;
  bool bloom = false;                // exchanges are in mode kBloom
  uint16_t false_positive_rate = 0;  // of kBloom, in 1/65536, at least 1
  bool batches = false;  // the sender cannot take its set in one batch
  // The sender compares 2^batch_bits elements at once, or more.
  uint8_t batch_bits = kAssumedBatchBits;
  // The session only compares: what differs is listed, nothing is shipped or
  // written.
  bool verify = false;
  bool keys_only = false;  // with `verify`: only keys that the initiator claims
  uint64_t left_out = 0;   // quarantined pairs, which are in no digest
};
// The body of kHello:
//   count | digest (16) [| options (1): bit 0 bloom, bit 1 batches,
//   bit 2 verify, bit 3 keys only, bit 4 pairs left out, bit 5 batch bits
//   [| rate (2) if bloom] [| batch bits (1) if bit 5] [| left out if bit 4]]
// with the options if kFlagHelloExtended is set.
void EncodeHello(const Hello& hello, std::string* out, uint8_t* flags);
absl::Status DecodeHello(std::string_view body, uint8_t flags, Hello* hello);

// Appends count | digest (16).
void EncodeDigest(const Digest& digest, std::string* out);

// The body of kSummary: count | digest (16) [| number of pairs left out of
// them, unless 0].
struct Summary {
  Digest digest;
  uint64_t left_out = 0;
};
void EncodeSummary(const Summary& summary, std::string* out);
absl::Status DecodeSummary(std::string_view body, Summary* summary);

// The body of kEqual: empty, or the number of pairs left out of what is equal,
// unless 0.
void EncodeLeftOut(uint64_t left_out, std::string* out);
absl::Status DecodeLeftOut(MessageType type, std::string_view body,
                           uint64_t* left_out);

// The body of kDiffers, unless kFlagFailed is set (pure_leaves.h), and of
// kLocate: count.
void EncodeCount(uint64_t count, std::string* out);
absl::Status DecodeCount(MessageType type, std::string_view body,
                         uint64_t* count);

// The body of kLeafBatch, with ascending leaves. They are runs of neighbours,
// each after `skipped` leaves:
//   runs | runs x (2 * skipped + (taken > 1) [| taken - 2]) | count | digest
// or, if it is known about how many elements differ there, the shorter of
//   0 | expected | overwritten | leaves | count | digest | gap-coded leaves
//   0 | expected | overwritten | 0 | runs, count and digest as above
struct LeafBatchHead {
  std::vector<uint32_t> leaves;
  Digest digest;
  uint64_t expected = 0;  // elements that differ, about; 0: unknown
  // About how many keys have two of these elements, one on each side.
  uint64_t overwritten = 0;
};
void EncodeLeafBatch(const LeafBatchHead& batch, std::string* out);
absl::Status DecodeLeafBatch(std::string_view body, LeafBatchHead* batch);

// The body of kWants: which of `offers` offers are wanted. It is empty if all
// are. Else a form byte comes first; the shorter form is sent:
//   0: lengths of alternating runs, wanted first, the last left out
//   1: a bitmap, least significant bit first, spare bits 0
void EncodeWants(const std::vector<bool>& wants, std::string* out);
absl::Status DecodeWants(std::string_view body, size_t offers,
                         std::vector<bool>* wants);

enum class EndReason : uint8_t {
  kBusy = 1,         // in a session with another; come back later
  kUnavailable = 2,  // cannot compare now, the text says why
  kExpired = 3,      // a snapshot is too old, go on with a new session
  kRefused = 4,      // all was exchanged but what one side refuses
  kGaveUp = 5,       // too many rounds without agreement
  kFailed = 6,       // the sender's storage failed, the text says how
  kEnough = 7,       // comparing only: the initiator has seen enough
  kIndexBuild = 8,   // as kUnavailable, until an index build is over
};
inline constexpr size_t kMaxTextBytes = 512;
struct End {
  EndReason reason = EndReason::kFailed;
  // For people. Cut to kMaxTextBytes when encoded, and escaped (EscapeText)
  // when decoded.
  std::string text;
};
// The body of kEnd: reason (1) | text.
void EncodeEnd(const End& end, std::string* out);
absl::Status DecodeEnd(std::string_view body, End* end);

// Returns InvalidArgument with the text "<message>: <what>".
absl::Status Malformed(MessageType type, std::string_view what);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_MESSAGES_H_

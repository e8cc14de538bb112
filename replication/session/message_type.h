// The types of messages, one for everything that crosses a connection:
// set-up, sessions, clones, streams and the tools' requests.
//
//   message = head (1 byte) | body
//   head    = bits 0..4 type, bits 5 and 6 flags of the type,
//             bit 7: the last message of this side's turn
//
// Type 31 is kept for a second byte of type, should 30 not be enough.

#ifndef ROCKSYNC_REPLICATION_SESSION_MESSAGE_TYPE_H_
#define ROCKSYNC_REPLICATION_SESSION_MESSAGE_TYPE_H_

#include <cstdint>
#include <string_view>

namespace rocksync {

// What the sender of a message says. "The peer" is its receiver.
enum class MessageType : uint8_t {
  kHello = 1,      // a session begins: what the sender holds
  kEqual = 2,      // the sender holds what the peer summarised
  kDiffers = 3,    // the sender holds something else; it initiates an exchange
  kLocate = 4,     // the sender holds something else; it locates the leaves
  kLeafBatch = 5,  // leaves to compare next, and what the sender holds there
  kSummary = 6,    // what the sender holds after this round
  kPayload = 7,    // one payload of the running exchange
  kPass = 8,       // nothing to say in this turn
  kOffers = 9,     // pairs by key and version
  kWants = 10,     // which offers of the peer's last turn the sender wants
  kValues = 11,    // the values that the peer wanted, in order
  kChunk = 12,     // the beginning of a large value
  kPairs = 13,     // whole pairs that were not asked for
  kAbandon = 14,   // the sides differ, but only by what one of them refuses
  kEnd = 15,       // the session is over, without a proof
  kSetup = 16,     // these three: see setup.h
  kConfirm = 17,
  kRefusal = 18,
  kClaims = 19,    // comparing only: what the sender holds of some keys
  kHoldings = 20,  // comparing only: held of the peer's latest claims
  // Between sessions: see tombstone_gc.h.
  kAnnouncement = 21,
  kAuthHello = 22,  // these two, kProof and kFarewell: see authentication.h
  kChallenge = 23,
  kRequest = 24,  // these two: see admin_messages.h
  kReply = 25,
  // During a session, but not part of it: the sender has the turn and still
  // works on it.
  kHeartbeat = 26,
  kProof = 27,
  kFarewell = 28,
  kClone = 29,  // all messages of a clone: see clone_messages.h
  // In place of the first session: see stream_messages.h.
  kStreamOpen = 30,
};
inline constexpr uint8_t kMaxMessageType = 30;

// Returns the name of a type for error messages, e.g. "Offers".
std::string_view MessageName(MessageType type);

// Returns whether messages of this type ship or list pairs: see round_work.h.
constexpr bool IsOfWork(MessageType type) {
  return (type >= MessageType::kOffers && type <= MessageType::kPairs) ||
         type == MessageType::kClaims || type == MessageType::kHoldings;
}

inline constexpr uint8_t kTypeMask = 0x1f;
inline constexpr uint8_t kLastOfTurn = 0x80;

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_MESSAGE_TYPE_H_

// Claims and holdings as bytes: the bodies of the messages of a session that
// only compares.
//
//   claims   = ( family | key length | key | held )*
//   holdings = held*
//   held     = state (1) [| version] [| element's hash (16)]
// Integers are varints; those of a fixed size have it in parentheses. State 0:
// nothing, 1: a tombstone, 2: a live pair. The version follows states 1 and 2,
// coded as in offers (pair_coding.h); the hash follows state 2.

#ifndef ROCKSYNC_REPLICATION_SESSION_LISTING_CODING_H_
#define ROCKSYNC_REPLICATION_SESSION_LISTING_CODING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "replication/session/difference.h"
#include "replication/session/messages.h"
#include "replication/session/pair_coding.h"

namespace rocksync {

// What the sender of a claim holds for a key. The view does not own.
struct Claim {
  uint32_t family = 0;
  std::string_view key;
  Held held;
};

// Appends claims and holdings to one body.
class ListingEncoder {
 public:
  explicit ListingEncoder(std::string* body) : body_(body) {}
  void AddClaim(const Claim& claim);
  void AddHeld(const Held& held);

 private:
  std::string* body_;
  VersionEncoder versions_;
};

// Reads claims and holdings from one body, which must outlive the decoder.
class ListingDecoder {
 public:
  // Errors name `type`.
  ListingDecoder(MessageType type, std::string_view body)
      : type_(type), rest_(body) {}
  bool done() const { return rest_.empty(); }
  // REQUIRES: !done().
  absl::Status NextClaim(Claim* claim);
  absl::Status NextHeld(Held* held);

 private:
  const MessageType type_;
  std::string_view rest_;
  VersionDecoder versions_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_LISTING_CODING_H_

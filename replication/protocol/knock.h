// How a connection begins, a replica's as well as an operator's tool's: both
// sides prove that they know the cluster's secret, which is never sent. Until
// then messages are small, nothing is believed and nothing is written down.
// Sans-IO: the messages as bytes.
//
//   dialer    Knock            Proof, then a Setup or a Request
//   listener        Challenge
//
// Each side may say Farewell instead, and why. Nobody has proven anything then,
// so it is a text for people and has no other effect.
//
// What proves the secret covers fresh random bytes of both sides and whom each
// sees at the other end, as far as the transport authenticates it: an answer of
// yesterday, or one fetched from a third replica meanwhile, proves nothing.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_KNOCK_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_KNOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sketch/element.h"

namespace rocksync {

using KnockNonce = std::array<uint8_t, 16>;

// The replica ids that the transport authenticated, 0 if it does not.
struct KnockIds {
  uint64_t dialer = 0;
  uint64_t listener = 0;
};

struct Knock {
  std::string cluster;  // its name
  KnockNonce nonce{};   // fresh random bytes
};
// "rocksync" | version, now 1 | cluster (a string) | nonce (16)
std::string KnockMessage(const Knock& knock);
// FailedPrecondition: another version of this.
absl::Status ReadKnock(std::string_view message, Knock* knock);

// proof (16) | nonce (16). `knock` is the whole message, as `challenge` is
// below.
std::string ChallengeMessage(const ClusterSecret& secret, const KnockIds& ids,
                             std::string_view knock, const KnockNonce& nonce);
// FailedPrecondition: who answers does not know the secret, or says Farewell.
absl::Status ReadChallenge(const ClusterSecret& secret, const KnockIds& ids,
                           std::string_view knock, std::string_view message,
                           KnockNonce* nonce);

// proof (16)
std::string ProofMessage(const ClusterSecret& secret, const KnockIds& ids,
                         std::string_view knock, std::string_view challenge);
// As ReadChallenge, of the dialer.
absl::Status ReadProof(const ClusterSecret& secret, const KnockIds& ids,
                       std::string_view knock, std::string_view challenge,
                       std::string_view message);

// text, cut to kMaxTextBytes
std::string FarewellMessage(std::string_view text);

// HMAC-SHA256 of the label and then of each part as a string, cut to 16 bytes.
std::string ProofOf(const ClusterSecret& secret, std::string_view label,
                    std::initializer_list<std::string_view> parts);
// Takes as long whatever differs.
bool SameProof(std::string_view a, std::string_view b);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_KNOCK_H_

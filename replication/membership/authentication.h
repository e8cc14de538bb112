// Authentication, the first step of every connection, of a replica or of an
// operator's tool: both sides prove that they know the cluster's secret, which
// is never sent. Until then messages are small, nothing is believed and nothing
// is written to disk. Sans-IO: the messages as bytes.
//
//   dialer    AuthHello             Proof, then a Setup or a Request
//   listener             Challenge
//
// Either side may send Farewell instead, with a reason. Nobody has proven
// anything at that point, so the reason is a text for people and has no other
// effect.
//
// A proof covers fresh random bytes of both sides and the replica ids at both
// ends, as far as the transport authenticates them. So a recorded answer, or
// one fetched from a third replica meanwhile, proves nothing.

#ifndef ROCKSYNC_REPLICATION_MEMBERSHIP_AUTHENTICATION_H_
#define ROCKSYNC_REPLICATION_MEMBERSHIP_AUTHENTICATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sketch/element/element.h"

namespace rocksync {

using AuthNonce = std::array<uint8_t, 16>;

// The replica ids that the transport authenticated; 0 if it does not.
struct AuthIds {
  uint64_t dialer = 0;
  uint64_t listener = 0;
};

struct AuthHello {
  std::string cluster;  // its name
  AuthNonce nonce{};    // fresh random bytes
};
// Body: "rocksync" | version, now 1 | cluster (a string) | nonce (16)
std::string AuthHelloMessage(const AuthHello& auth_hello);
// Returns FailedPrecondition if the peer speaks another version of AuthHello,
// or says Farewell.
absl::Status ReadAuthHello(std::string_view message, AuthHello* auth_hello);

// Body: proof (16) | nonce (16). `auth_hello` and, below, `challenge` are whole
// messages.
std::string ChallengeMessage(const ClusterSecret& secret, const AuthIds& ids,
                             std::string_view auth_hello,
                             const AuthNonce& nonce);
// Returns FailedPrecondition if the listener does not know the secret, or says
// Farewell.
absl::Status ReadChallenge(const ClusterSecret& secret, const AuthIds& ids,
                           std::string_view auth_hello,
                           std::string_view message, AuthNonce* nonce);

// Body: proof (16)
std::string ProofMessage(const ClusterSecret& secret, const AuthIds& ids,
                         std::string_view auth_hello,
                         std::string_view challenge);
// Returns FailedPrecondition if the dialer does not know the secret, or says
// Farewell.
absl::Status ReadProof(const ClusterSecret& secret, const AuthIds& ids,
                       std::string_view auth_hello, std::string_view challenge,
                       std::string_view message);

// Body: text, cut to kMaxTextBytes
std::string FarewellMessage(std::string_view text);

// Returns the HMAC-SHA256 of the label followed by each part as a string, cut
// to 16 bytes.
std::string ProofOf(const ClusterSecret& secret, std::string_view label,
                    std::initializer_list<std::string_view> parts);
// Compares two proofs in a time that does not depend on where they differ.
bool SameProof(std::string_view a, std::string_view b);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_AUTHENTICATION_H_

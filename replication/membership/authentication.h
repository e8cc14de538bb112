// Authentication, with which every connection begins, a replica's as well as an
// operator's tool's: both sides prove that they know the cluster's secret,
// which is never sent. Until then messages are small, nothing is believed and
// nothing is written down. Sans-IO: the messages as bytes.
//
//   dialer    AuthHello             Proof, then a Setup or a Request
//   listener             Challenge
//
// Each side may say Farewell instead, and why. Nobody has proven anything then,
// so it is a text for people and has no other effect.
//
// What proves the secret covers fresh random bytes of both sides and whom each
// sees at the other end, as far as the transport authenticates it: a recorded
// answer, or one fetched from a third replica meanwhile, proves nothing.

#ifndef ROCKSYNC_REPLICATION_MEMBERSHIP_AUTHENTICATION_H_
#define ROCKSYNC_REPLICATION_MEMBERSHIP_AUTHENTICATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sketch/element/element.h"

namespace rocksync {

using AuthNonce = std::array<uint8_t, 16>;

// The replica ids that the transport authenticated, 0 if it does not.
struct AuthIds {
  uint64_t dialer = 0;
  uint64_t listener = 0;
};

struct AuthHello {
  std::string cluster;  // its name
  AuthNonce nonce{};    // fresh random bytes
};
// "rocksync" | version, now 1 | cluster (a string) | nonce (16)
std::string AuthHelloMessage(const AuthHello& auth_hello);
// FailedPrecondition: another version of AuthHello.
absl::Status ReadAuthHello(std::string_view message, AuthHello* auth_hello);

// proof (16) | nonce (16). `auth_hello` and, below, `challenge` are the whole
// messages.
std::string ChallengeMessage(const ClusterSecret& secret, const AuthIds& ids,
                             std::string_view auth_hello,
                             const AuthNonce& nonce);
// FailedPrecondition: the listener does not know the secret, or says Farewell.
absl::Status ReadChallenge(const ClusterSecret& secret, const AuthIds& ids,
                           std::string_view auth_hello,
                           std::string_view message, AuthNonce* nonce);

// proof (16)
std::string ProofMessage(const ClusterSecret& secret, const AuthIds& ids,
                         std::string_view auth_hello,
                         std::string_view challenge);
// As ReadChallenge, of the dialer.
absl::Status ReadProof(const ClusterSecret& secret, const AuthIds& ids,
                       std::string_view auth_hello, std::string_view challenge,
                       std::string_view message);

// text, cut to kMaxTextBytes
std::string FarewellMessage(std::string_view text);

// HMAC-SHA256 of the label and then of each part as a string, cut to 16 bytes.
std::string ProofOf(const ClusterSecret& secret, std::string_view label,
                    std::initializer_list<std::string_view> parts);
// Compares in constant time, whatever differs.
bool SameProof(std::string_view a, std::string_view b);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_AUTHENTICATION_H_

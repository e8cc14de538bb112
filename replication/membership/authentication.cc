#include "replication/membership/authentication.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/membership/setup.h"
#include "replication/session/messages.h"
#include "replication/text/escape_text.h"
#include "rocksync/limits.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

constexpr std::string_view kMagic = "rocksync";
constexpr uint64_t kVersion = 1;
constexpr size_t kProofBytes = 16;

std::string Begin(MessageType type) {
  return std::string(1, static_cast<char>(type));
}

// Strips the head off a message of this type, so that its body is left.
absl::Status Take(MessageType type, std::string_view* message) {
  if (message->empty()) return Malformed(type, "empty");
  const char head = message->front();
  message->remove_prefix(1);
  if (head == static_cast<char>(type)) return absl::OkStatus();
  if (head == static_cast<char>(MessageType::kFarewell) &&
      message->size() <= kMaxTextBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(type == MessageType::kChallenge
                         ? "the replica that was dialed refuses: "
                         : "the one that dialed refuses: ",
                     EscapeText(*message)));
  }
  return absl::InvalidArgumentError(
      "the peer does not speak rocksync, or speaks out of turn");
}

bool GetNonce(std::string_view* body, AuthNonce* nonce) {
  std::string_view bytes;
  if (!GetBytes(body, nonce->size(), &bytes)) return false;
  std::copy(bytes.begin(), bytes.end(), nonce->begin());
  return true;
}

std::string Coded(const AuthIds& ids) {
  std::string coded;
  PutFixed64(&coded, ids.dialer);
  PutFixed64(&coded, ids.listener);
  return coded;
}

std::string ListenersProof(const ClusterSecret& secret, const AuthIds& ids,
                           std::string_view auth_hello,
                           const AuthNonce& nonce) {
  return ProofOf(secret, "rocksync challenge",
                 {Coded(ids), auth_hello, AsPiece(nonce)});
}

std::string DialersProof(const ClusterSecret& secret, const AuthIds& ids,
                         std::string_view auth_hello,
                         std::string_view challenge) {
  return ProofOf(secret, "rocksync proof", {Coded(ids), auth_hello, challenge});
}

absl::Status OtherSecret() {
  return absl::FailedPreconditionError(
      "the cluster secret differs from that of the peer; configure the same 32 "
      "bytes on both");
}

}  // namespace

std::string ProofOf(const ClusterSecret& secret, std::string_view label,
                    std::initializer_list<std::string_view> parts) {
  std::string text(label);
  for (const std::string_view part : parts) PutLengthPrefixed(&text, part);
  return Hmac128(secret, text);
}

bool SameProof(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;  // no early exit
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]);
  }
  return difference == 0;
}

std::string AuthHelloMessage(const AuthHello& auth_hello) {
  std::string message = Begin(MessageType::kAuthHello);
  message.append(kMagic);
  PutVarint64(&message, kVersion);
  PutLengthPrefixed(&message, auth_hello.cluster);
  message.append(AsPiece(auth_hello.nonce));
  return message;
}

absl::Status ReadAuthHello(std::string_view message, AuthHello* auth_hello) {
  constexpr MessageType kType = MessageType::kAuthHello;
  const absl::Status status = Take(kType, &message);
  if (!status.ok()) return status;
  std::string_view magic;
  uint64_t version = 0;
  std::string_view cluster;
  if (!GetBytes(&message, kMagic.size(), &magic) || magic != kMagic ||
      !GetVarint64(&message, &version)) {
    return Malformed(kType, "not one of rocksync");
  }
  if (version != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer connects in version ", version, ", this replica answers in ",
        kVersion, "; run releases of rocksync that overlap"));
  }
  if (!GetLengthPrefixed(&message, kMaxNameBytes, &cluster) ||
      !GetNonce(&message, &auth_hello->nonce) || !message.empty()) {
    return Malformed(kType, "truncated");
  }
  auth_hello->cluster.assign(cluster);
  return absl::OkStatus();
}

std::string ChallengeMessage(const ClusterSecret& secret, const AuthIds& ids,
                             std::string_view auth_hello,
                             const AuthNonce& nonce) {
  std::string message = Begin(MessageType::kChallenge);
  message.append(ListenersProof(secret, ids, auth_hello, nonce));
  message.append(AsPiece(nonce));
  return message;
}

absl::Status ReadChallenge(const ClusterSecret& secret, const AuthIds& ids,
                           std::string_view auth_hello,
                           std::string_view message, AuthNonce* nonce) {
  constexpr MessageType kType = MessageType::kChallenge;
  const absl::Status status = Take(kType, &message);
  if (!status.ok()) return status;
  std::string_view proof;
  if (!GetBytes(&message, kProofBytes, &proof) || !GetNonce(&message, nonce) ||
      !message.empty()) {
    return Malformed(kType, "truncated");
  }
  return SameProof(proof, ListenersProof(secret, ids, auth_hello, *nonce))
             ? absl::OkStatus()
             : OtherSecret();
}

std::string ProofMessage(const ClusterSecret& secret, const AuthIds& ids,
                         std::string_view auth_hello,
                         std::string_view challenge) {
  return Begin(MessageType::kProof) +
         DialersProof(secret, ids, auth_hello, challenge);
}

absl::Status ReadProof(const ClusterSecret& secret, const AuthIds& ids,
                       std::string_view auth_hello, std::string_view challenge,
                       std::string_view message) {
  const absl::Status status = Take(MessageType::kProof, &message);
  if (!status.ok()) return status;
  return SameProof(message, DialersProof(secret, ids, auth_hello, challenge))
             ? absl::OkStatus()
             : OtherSecret();
}

std::string FarewellMessage(std::string_view text) {
  return Begin(MessageType::kFarewell).append(text.substr(0, kMaxTextBytes));
}

}  // namespace rocksync

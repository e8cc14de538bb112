#include "replication/protocol/inquiry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/messages.h"
#include "replication/protocol/setup.h"
#include "sketch/coding.h"
#include "sketch/sha256.h"

namespace rocksync {
namespace {

constexpr std::string_view kMagic = "rocksync ask";
constexpr uint64_t kVersion = 1;
constexpr size_t kProofBytes = 16;
constexpr size_t kMaxNameBytes = 1024;
constexpr uint64_t kMaxFamilies = 4096;

std::string Begin(MessageType type) {
  return std::string(1, static_cast<char>(type));
}

// The body of a message of this type.
absl::Status Take(MessageType type, std::string_view* message) {
  if (message->empty() || (*message)[0] != static_cast<char>(type)) {
    return Malformed(type, "something else came");
  }
  message->remove_prefix(1);
  return absl::OkStatus();
}

bool GetNonce(std::string_view* body, InquiryNonce* nonce) {
  std::string_view bytes;
  if (!GetBytes(body, nonce->size(), &bytes)) return false;
  std::copy(bytes.begin(), bytes.end(), nonce->begin());
  return true;
}

std::string Proof(const ClusterSecret& secret, std::string_view label,
                  std::initializer_list<std::string_view> parts) {
  std::string text(label);
  for (const std::string_view part : parts) PutLengthPrefixed(&text, part);
  return Hmac128(secret, text);
}

// Takes a proof from the front of the body and checks it.
absl::Status CheckProof(MessageType type, std::string_view* body,
                        const std::string& expected) {
  std::string_view proof;
  if (!GetBytes(body, kProofBytes, &proof)) {
    return Malformed(type, "truncated");
  }
  unsigned difference = 0;  // no early exit: takes the same time for all
  for (size_t i = 0; i < kProofBytes; ++i) {
    difference |=
        static_cast<uint8_t>(proof[i]) ^ static_cast<uint8_t>(expected[i]);
  }
  if (difference == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the cluster's secret differs; give the tool the one that the replica "
      "has");
}

std::string ChallengeProof(const ClusterSecret& secret, std::string_view ask,
                           const InquiryNonce& nonce) {
  return Proof(secret, "rocksync challenge", {ask, AsPiece(nonce)});
}

std::string RequestProof(const ClusterSecret& secret, std::string_view ask,
                         std::string_view challenge, std::string_view body) {
  return Proof(secret, "rocksync request", {ask, challenge, body});
}

bool GetFamilies(std::string_view* body, std::vector<std::string>* families) {
  uint64_t count = 0;
  if (!GetVarint64(body, kMaxFamilies, &count)) return false;
  families->clear();
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view name;
    if (!GetLengthPrefixed(body, kMaxNameBytes, &name)) return false;
    families->emplace_back(name);
  }
  return true;
}

}  // namespace

bool IsAsk(std::string_view message) {
  return !message.empty() && message[0] == static_cast<char>(MessageType::kAsk);
}

std::string AskMessage(const Ask& ask) {
  std::string message = Begin(MessageType::kAsk);
  message.append(kMagic);
  PutVarint64(&message, kVersion);
  PutLengthPrefixed(&message, ask.cluster);
  message.append(AsPiece(ask.nonce));
  return message;
}

absl::Status ReadAsk(std::string_view message, Ask* ask) {
  constexpr MessageType kType = MessageType::kAsk;
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
        "the tool asks in version ", version, ", this replica answers in ",
        kVersion, "; use the tool of the replica's release"));
  }
  if (!GetLengthPrefixed(&message, kMaxNameBytes, &cluster) ||
      !GetNonce(&message, &ask->nonce) || !message.empty()) {
    return Malformed(kType, "truncated");
  }
  ask->cluster.assign(cluster);
  return absl::OkStatus();
}

std::string ChallengeMessage(const ClusterSecret& secret, std::string_view ask,
                             const InquiryNonce& nonce) {
  std::string message = Begin(MessageType::kChallenge);
  message.append(ChallengeProof(secret, ask, nonce));
  message.append(AsPiece(nonce));
  return message;
}

absl::Status ReadChallenge(const ClusterSecret& secret, std::string_view ask,
                           std::string_view message, InquiryNonce* nonce) {
  constexpr MessageType kType = MessageType::kChallenge;
  const absl::Status status = Take(kType, &message);
  if (!status.ok()) return status;
  std::string_view rest = message;
  if (rest.size() != kProofBytes + nonce->size()) {
    return Malformed(kType, "truncated");
  }
  rest.remove_prefix(kProofBytes);
  if (!GetNonce(&rest, nonce)) return Malformed(kType, "truncated");
  return CheckProof(kType, &message, ChallengeProof(secret, ask, *nonce));
}

std::string RequestMessage(const ClusterSecret& secret, std::string_view ask,
                           std::string_view challenge, const Request& request) {
  std::string body;
  PutFixed8(&body, static_cast<uint8_t>(request.kind));
  switch (request.kind) {
    case Request::Kind::kStatus:
      break;
    case Request::Kind::kVerify:
      PutLengthPrefixed(&body, request.peer);
      PutVarint64(&body, request.max_keys);
      PutVarint64(&body, request.settle_ms);
      break;
    case Request::Kind::kCompare:
      PutVarint64(&body, request.families.size());
      for (const std::string& family : request.families) {
        PutLengthPrefixed(&body, family);
      }
      break;
  }
  std::string message = Begin(MessageType::kRequest);
  message.append(RequestProof(secret, ask, challenge, body));
  message.append(body);
  return message;
}

absl::Status ReadRequest(const ClusterSecret& secret, std::string_view ask,
                         std::string_view challenge, std::string_view message,
                         Request* request) {
  constexpr MessageType kType = MessageType::kRequest;
  absl::Status status = Take(kType, &message);
  if (!status.ok()) return status;
  if (message.size() < kProofBytes) return Malformed(kType, "truncated");
  std::string_view body = message.substr(kProofBytes);
  status =
      CheckProof(kType, &message, RequestProof(secret, ask, challenge, body));
  if (!status.ok()) return status;
  *request = Request{};
  uint8_t kind = 0;
  if (!GetFixed8(&body, &kind) || kind == 0 ||
      kind > static_cast<uint8_t>(Request::Kind::kCompare)) {
    return absl::FailedPreconditionError(
        "this replica does not know what is asked; use the tool of its "
        "release");
  }
  request->kind = static_cast<Request::Kind>(kind);
  std::string_view peer;
  bool good = true;
  switch (request->kind) {
    case Request::Kind::kStatus:
      break;
    case Request::Kind::kVerify:
      good = GetLengthPrefixed(&body, kMaxNameBytes, &peer) &&
             GetVarint64(&body, &request->max_keys) &&
             GetVarint64(&body, &request->settle_ms);
      request->peer.assign(peer);
      break;
    case Request::Kind::kCompare:
      good = GetFamilies(&body, &request->families);
      break;
  }
  if (!good || !body.empty()) return Malformed(kType, "truncated");
  return absl::OkStatus();
}

std::string ReplyMessage(const Reply& reply) {
  std::string message = Begin(MessageType::kReply);
  PutFixed8(&message, static_cast<uint8_t>(reply.kind));
  message.append(reply.text, 0, kMaxReplyBytes);
  return message;
}

absl::Status ReadReply(std::string_view message, Reply* reply) {
  constexpr MessageType kType = MessageType::kReply;
  const absl::Status status = Take(kType, &message);
  if (!status.ok()) return status;
  uint8_t kind = 0;
  if (!GetFixed8(&message, &kind) ||
      kind > static_cast<uint8_t>(Reply::Kind::kLine)) {
    return Malformed(kType, "unknown kind");
  }
  if (message.size() > kMaxReplyBytes) return Malformed(kType, "too long");
  reply->kind = static_cast<Reply::Kind>(kind);
  reply->text.assign(message);
  return absl::OkStatus();
}

}  // namespace rocksync

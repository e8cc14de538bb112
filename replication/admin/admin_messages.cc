#include "replication/admin/admin_messages.h"

#include "replication/membership/authentication.h"
#include "replication/session/messages.h"
#include "rocksync/limits.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr size_t kProofBytes = 16;

std::string Begin(MessageType type) {
  return std::string(1, static_cast<char>(type));
}

// Checks the type of a message and leaves its body in `*message`.
absl::Status Take(MessageType type, std::string_view* message) {
  if (message->empty() || (*message)[0] != static_cast<char>(type)) {
    return Malformed(type, "a message of another type");
  }
  message->remove_prefix(1);
  return absl::OkStatus();
}

std::string RequestProof(const ClusterSecret& secret,
                         std::string_view auth_hello,
                         std::string_view challenge, std::string_view body) {
  return ProofOf(secret, "rocksync request", {auth_hello, challenge, body});
}

bool GetFamilies(std::string_view* body, std::vector<std::string>* families) {
  uint64_t count = 0;
  if (!GetVarint64(body, kMaxReplicatedFamilies, &count)) return false;
  families->clear();
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view name;
    if (!GetLengthPrefixed(body, kMaxNameBytes, &name)) return false;
    families->emplace_back(name);
  }
  return true;
}

}  // namespace

bool IsRequest(std::string_view message) {
  return !message.empty() &&
         message[0] == static_cast<char>(MessageType::kRequest);
}

std::string RequestMessage(const ClusterSecret& secret,
                           std::string_view auth_hello,
                           std::string_view challenge, const Request& request) {
  std::string body;
  PutFixed8(&body, static_cast<uint8_t>(request.kind));
  switch (request.kind) {
    case Request::Kind::kStatus:
      break;
    case Request::Kind::kVerify:
      PutLengthPrefixed(&body, request.peer);
      PutVarint64(&body, request.max_keys);
      PutVarint64(&body, request.wait_ms);
      break;
    case Request::Kind::kCompare:
      PutVarint64(&body, request.families.size());
      for (const std::string& family : request.families) {
        PutLengthPrefixed(&body, family);
      }
      break;
  }
  std::string message = Begin(MessageType::kRequest);
  message.append(RequestProof(secret, auth_hello, challenge, body));
  message.append(body);
  return message;
}

absl::Status ReadRequest(const ClusterSecret& secret,
                         std::string_view auth_hello,
                         std::string_view challenge, std::string_view message,
                         Request* request) {
  constexpr MessageType kType = MessageType::kRequest;
  const absl::Status status = Take(kType, &message);
  if (!status.ok()) return status;
  if (message.size() < kProofBytes) return Malformed(kType, "truncated");
  std::string_view body = message.substr(kProofBytes);
  if (!SameProof(message.substr(0, kProofBytes),
                 RequestProof(secret, auth_hello, challenge, body))) {
    return absl::FailedPreconditionError("the request was changed on its way");
  }
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
             GetVarint64(&body, &request->wait_ms);
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

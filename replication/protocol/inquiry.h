// How an operator's tool asks a running replica something over the replicas'
// own transport. Instead of a Setup the dialer sends an Ask; it is no replica,
// joins nothing, and nothing is remembered of it. Each side proves that it
// knows the cluster's secret. Sans-IO: the messages as bytes.
//
//   asker     Ask            Request
//   replica       Challenge          Reply*
//
// After a request to compare has been granted, sessions that only compare
// follow, with the asker as initiator.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_INQUIRY_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_INQUIRY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/element.h"

namespace rocksync {

using InquiryNonce = std::array<uint8_t, 16>;

// True if a dialer's first message is an Ask.
bool IsAsk(std::string_view message);

struct Ask {
  std::string cluster;  // its name
  InquiryNonce nonce;   // fresh random bytes
};
std::string AskMessage(const Ask& ask);
// FailedPrecondition: another version of this protocol.
absl::Status ReadAsk(std::string_view message, Ask* ask);

// `ask` is the whole Ask message.
std::string ChallengeMessage(const ClusterSecret& secret, std::string_view ask,
                             const InquiryNonce& nonce);
// FailedPrecondition: who answers does not know the secret.
absl::Status ReadChallenge(const ClusterSecret& secret, std::string_view ask,
                           std::string_view message, InquiryNonce* nonce);

struct Request {
  enum class Kind : uint8_t {
    kStatus = 1,   // how are you?
    kVerify = 2,   // compare yourself with `peer`
    kCompare = 3,  // compare yourself with me
  };
  Kind kind = Kind::kStatus;
  // kVerify
  std::string peer;  // its address, as the replica reaches it
  uint64_t max_keys = 0;
  uint64_t settle_ms = 0;
  // kCompare: the asker's replicated families, in the order of their names.
  std::vector<std::string> families;
};
// `ask`, `challenge`: the whole messages.
std::string RequestMessage(const ClusterSecret& secret, std::string_view ask,
                           std::string_view challenge, const Request& request);
// FailedPrecondition: who asks does not know the secret.
absl::Status ReadRequest(const ClusterSecret& secret, std::string_view ask,
                         std::string_view challenge, std::string_view message,
                         Request* request);

// One line of an answer.
struct Reply {
  enum class Kind : uint8_t {
    kDone = 0,   // the last one; text is a JSON object, or empty
    kError = 1,  // the last one; text says what is wrong
    kLine = 2,   // text is a JSON object, more follow
  };
  Kind kind = Kind::kError;
  std::string text;  // at most kMaxReplyBytes
};
inline constexpr size_t kMaxReplyBytes = size_t{15} << 20;
std::string ReplyMessage(const Reply& reply);
absl::Status ReadReply(std::string_view message, Reply* reply);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_INQUIRY_H_

// The messages of admin requests, by which an operator's tool asks a running
// replica over the replicas' own transport. Once both have proven the cluster's
// secret (authentication.h), the dialer sends a Request instead of a Setup. It
// is no replica and joins nothing, and the replica remembers nothing of it.
// Sans-IO: the messages as bytes.
//
//   client    Request
//   replica            Reply*
//
// After a request to compare has been granted, sessions that only compare
// follow, with the client as initiator.

#ifndef ROCKSYNC_REPLICATION_ADMIN_ADMIN_MESSAGES_H_
#define ROCKSYNC_REPLICATION_ADMIN_ADMIN_MESSAGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/element/element.h"

namespace rocksync {

// Returns true if the first message of an authenticated dialer is a Request.
bool IsRequest(std::string_view message);

struct Request {
  enum class Kind : uint8_t {
    kStatus = 1,   // report the status
    kVerify = 2,   // compare the replica with `peer`
    kCompare = 3,  // compare the replica with the client's database
  };
  Kind kind = Kind::kStatus;
  // kVerify:
  std::string peer;  // its address, as the replica reaches it
  uint64_t max_keys = 0;
  uint64_t wait_ms = 0;
  // kCompare: the client's replicated families, in the order of their names.
  std::vector<std::string> families;
};
// Encodes a request. `auth_hello` and `challenge` are the whole messages of the
// authentication. A proof of its own binds the request to them, since not every
// transport keeps it from being changed.
std::string RequestMessage(const ClusterSecret& secret,
                           std::string_view auth_hello,
                           std::string_view challenge, const Request& request);
// Reads a request. FailedPrecondition: it was changed on its way, or this
// replica does not know its kind. InvalidArgument: it is malformed.
absl::Status ReadRequest(const ClusterSecret& secret,
                         std::string_view auth_hello,
                         std::string_view challenge, std::string_view message,
                         Request* request);

// One line of an answer.
struct Reply {
  enum class Kind : uint8_t {
    kDone = 0,   // the last line; text is a JSON object, or empty
    kError = 1,  // the last line; text says what is wrong
    kLine = 2,   // text is a JSON object; more lines follow
  };
  Kind kind = Kind::kError;
  std::string text;  // at most kMaxReplyBytes
};
inline constexpr size_t kMaxReplyBytes = size_t{15} << 20;
std::string ReplyMessage(const Reply& reply);
absl::Status ReadReply(std::string_view message, Reply* reply);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_ADMIN_MESSAGES_H_

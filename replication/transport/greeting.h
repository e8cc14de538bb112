// The greeting: the first frame that a listener sends, once it has identified
// the dialer. An empty frame lets the dialer in; any other says why not. In TLS
// 1.3 a dialer's handshake ends before the listener has seen its certificate,
// so only the greeting tells the dialer whether it was accepted, or in words
// why not. The dialer sends nothing before it.
//
//   greeting := ""                 welcome
//             | 0x01 text          refused
//             | 0x02 text          too busy, come back later
//   text     := at most 256 bytes, for people

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_GREETING_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_GREETING_H_

#include <string>
#include <string_view>

#include "rocksdb/status.h"

namespace rocksync {

// The first bytes of a dialer without TLS, before any frame.
inline constexpr std::string_view kPlaintextPreamble =
    "rocksync plaintext 1\r\n";

// Returns the greeting for `verdict`, a whole frame with its header. Busy has
// its own code.
std::string EncodeGreeting(const rocksdb::Status& verdict);

// Reads a greeting. Returns OK, Busy or InvalidArgument as the listener says,
// or Corruption if `body` is no greeting. Errors name `peer`.
rocksdb::Status DecodeGreeting(std::string_view body, const std::string& peer);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_GREETING_H_

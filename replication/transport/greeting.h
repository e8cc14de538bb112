// The first frame that a listener sends, once it knows who dialed: an empty
// one lets the dialer in, another says why not. In TLS 1.3 a dialer's handshake
// ends before the listener has seen its certificate; only this tells it that
// it was accepted, or in words why not. The dialer says nothing before it.
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

// A whole frame with its header. Busy has its own code.
std::string EncodeGreeting(const rocksdb::Status& verdict);

// OK, Busy or InvalidArgument, or Corruption for what no listener says; names
// `peer`.
rocksdb::Status DecodeGreeting(std::string_view body, const std::string& peer);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_GREETING_H_

// Escapes text that is not trusted (of a peer, or from a database that somebody
// else wrote) before a log or a terminal shows it.

#ifndef ROCKSYNC_REPLICATION_TEXT_ESCAPE_TEXT_H_
#define ROCKSYNC_REPLICATION_TEXT_ESCAPE_TEXT_H_

#include <string>
#include <string_view>

namespace rocksync {

// Returns `text` with \xNN for each byte that is not printable ASCII: a
// terminal obeys some of them, and bytes above 0x7f need not be UTF-8.
std::string EscapeText(std::string_view text);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TEXT_ESCAPE_TEXT_H_

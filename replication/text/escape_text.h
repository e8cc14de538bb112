// Text of a peer, or from a database that somebody else wrote, which a log or a
// terminal is about to show.

#ifndef ROCKSYNC_REPLICATION_TEXT_ESCAPE_TEXT_H_
#define ROCKSYNC_REPLICATION_TEXT_ESCAPE_TEXT_H_

#include <string>
#include <string_view>

namespace rocksync {

// `text` with \xNN for each byte that is not printable ASCII: a terminal obeys
// some of them, and what is above 0x7f need not be UTF-8.
std::string EscapeText(std::string_view text);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TEXT_ESCAPE_TEXT_H_

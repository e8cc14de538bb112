// Text of a peer, or from a database that somebody else wrote, which a log or a
// terminal is about to show.

#ifndef ROCKSYNC_REPLICATION_SESSION_ESCAPE_TEXT_H_
#define ROCKSYNC_REPLICATION_SESSION_ESCAPE_TEXT_H_

#include <string>
#include <string_view>

namespace rocksync {

// `text` with \xNN for each byte that is not printable ASCII: a terminal obeys
// some of them, and what is above 0x7f need not be UTF-8.
inline std::string EscapeText(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string printable;
  printable.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= ' ' && c <= '~') {
      printable.push_back(c);
    } else {
      printable += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return printable;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ESCAPE_TEXT_H_

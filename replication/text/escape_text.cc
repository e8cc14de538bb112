#include "replication/text/escape_text.h"

namespace rocksync {

std::string EscapeText(std::string_view text) {
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

#include "replication/statistics/one_line.h"

namespace rocksync {

std::string OneLine(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line.push_back(c);
    } else {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xf]};
    }
  }
  return line;
}

}  // namespace rocksync

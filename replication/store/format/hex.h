// Keys as logs and errors show them, in the way of `rocksync verify --json`.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_HEX_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_HEX_H_

#include <string>
#include <string_view>

namespace rocksync {

// 0x, and two lower-case digits for each byte.
inline std::string HexOf(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 0xf];
  }
  return text;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_HEX_H_

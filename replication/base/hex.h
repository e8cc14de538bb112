// Formats keys for logs and errors, as `rocksync verify --json` does.

#ifndef ROCKSYNC_REPLICATION_BASE_HEX_H_
#define ROCKSYNC_REPLICATION_BASE_HEX_H_

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"

namespace rocksync {

// Returns 0x and two lower-case digits for each byte.
inline std::string HexOf(std::string_view bytes) {
  return "0x" + absl::BytesToHexString({bytes.data(), bytes.size()});
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_HEX_H_

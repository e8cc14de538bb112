// How a replica's id is written wherever people read or type it: in logs,
// statistics, certificates and the output of tools.

#ifndef ROCKSYNC_REPLICA_ID_H_
#define ROCKSYNC_REPLICA_ID_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace rocksync {

// 16 lower-case hex digits, leading zeros included.
inline std::string ReplicaIdHex(uint64_t replica_id) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text.push_back("0123456789abcdef"[(replica_id >> shift) & 15]);
  }
  return text;
}

// What ReplicaIdHex writes, in upper-case digits, too. nullopt: another text. 0
// is no replica's id, and is left to the caller.
inline std::optional<uint64_t> ParseReplicaId(std::string_view text) {
  const char* const end = text.data() + text.size();
  uint64_t id = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, id, 16);
  const bool valid = text.size() == 16 && error == std::errc() && stop == end;
  return valid ? std::optional(id) : std::nullopt;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICA_ID_H_

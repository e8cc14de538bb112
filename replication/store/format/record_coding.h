// The coding that the meta records of the index have in common.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_RECORD_CODING_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_RECORD_CODING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "sketch/element/coding.h"

namespace rocksync {

// The format of the index. Each record also begins with it, as a format byte.
inline constexpr uint8_t kIndexFormat = 1;

inline std::string StartRecord() {
  return std::string(1, static_cast<char>(kIndexFormat));
}

// Returns false if the record has a format that this code does not know.
[[nodiscard]] inline bool BeginRecord(std::string_view* bytes) {
  uint8_t format = 0;
  return GetFixed8(bytes, &format) && format == kIndexFormat;
}

[[nodiscard]] inline bool GetUint32(std::string_view* bytes, uint32_t* number) {
  uint64_t value = 0;
  if (!GetVarint64(bytes, UINT32_MAX, &value)) return false;
  *number = static_cast<uint32_t>(value);
  return true;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_RECORD_CODING_H_

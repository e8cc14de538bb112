// Bytes as a test writes them down.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_FORMAT_LITERAL_BYTES_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_FORMAT_LITERAL_BYTES_H_

#include <initializer_list>
#include <string>

namespace rocksync {

inline std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_FORMAT_LITERAL_BYTES_H_

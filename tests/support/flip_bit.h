// A damaged byte in a file: another one than it was, whatever it was.

#ifndef ROCKSYNC_TESTS_SUPPORT_FLIP_BIT_H_
#define ROCKSYNC_TESTS_SUPPORT_FLIP_BIT_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace rocksync {

inline void FlipABit(const std::filesystem::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  ASSERT_TRUE(file.is_open()) << path;
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_FLIP_BIT_H_

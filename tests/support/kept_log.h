// A log of RocksDB's that keeps its lines.

#ifndef ROCKSYNC_TESTS_SUPPORT_KEPT_LOG_H_
#define ROCKSYNC_TESTS_SUPPORT_KEPT_LOG_H_

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/env.h"

namespace rocksync {

// Thread-safe.
class KeptLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[1024];
    std::vsnprintf(line, sizeof line, format, arguments);
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // Lines that have `text` in them.
  size_t Count(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::count_if(
        lines_.begin(), lines_.end(), [text](const std::string& line) {
          return line.find(text) != std::string::npos;
        }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_KEPT_LOG_H_

// SCAN's cursors. A cursor is a number on the wire, but a position in RocksDB
// is a key; this remembers which is which.

#ifndef EXAMPLES_REPLICATED_STORE_CURSORS_H_
#define EXAMPLES_REPLICATED_STORE_CURSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rocksync {

// Thread-safe. Remembers the latest `capacity` positions; a scan that is left
// unfinished for so long that others have pushed it out must begin again.
class Cursors {
 public:
  explicit Cursors(size_t capacity) : capacity_(capacity) {}

  // A cursor, never 0, for the scan that goes on at `key`.
  uint64_t Add(std::string key) {
    const std::lock_guard lock(mutex_);
    if (keys_.size() >= capacity_) keys_.erase(keys_.begin());
    keys_.emplace(++last_, std::move(key));
    return last_;
  }

  // Where a scan goes on. A cursor may be used again, as after a lost reply.
  std::optional<std::string> Find(uint64_t cursor) const {
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(cursor);
    if (found == keys_.end()) return std::nullopt;
    return found->second;
  }

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::string> keys_;  // the oldest first
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_CURSORS_H_

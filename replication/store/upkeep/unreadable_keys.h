// Remembers since when RocksDB reports corruption of a pair.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_UNREADABLE_KEYS_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_UNREADABLE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace rocksync {

// Tells whether corruption has lasted. A read that ends short looks to RocksDB
// like a damaged block, and passes. So corruption counts as a fact only once it
// has lasted; what would be lost by it waits until then. Bounded: keys beyond
// those that it remembers wait for their turn. Thread-safe.
class UnreadableKeys {
 public:
  static constexpr uint64_t kLastsMs = 10 * 60'000;

  // Notes that the key is unreadable at `now_ms`. Returns whether it was
  // `kLastsMs` ago, too.
  bool NoteAndCheckPersisted(uint32_t family_id, std::string_view key,
                             uint64_t now_ms) {
    const std::lock_guard lock(mutex_);
    const std::pair<uint32_t, std::string> id(family_id, key);
    const auto known = keys_.find(id);
    if (known != keys_.end()) return now_ms >= known->second + kLastsMs;
    if (keys_.size() >= kMaxKeys) {
      std::erase_if(keys_, [now_ms](const auto& entry) {
        return now_ms >= entry.second + 10 * kLastsMs;  // nobody asks any more
      });
    }
    if (keys_.size() < kMaxKeys) keys_.emplace(id, now_ms);
    return false;
  }

  // Forgets a key that reads, or is replaced.
  void Forget(uint32_t family_id, std::string_view key) {
    const std::lock_guard lock(mutex_);
    if (!keys_.empty()) keys_.erase({family_id, std::string(key)});
  }

 private:
  static constexpr size_t kMaxKeys = 4096;

  std::mutex mutex_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> keys_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_UNREADABLE_KEYS_H_

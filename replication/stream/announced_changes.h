// Changes that were announced to a peer but not sent, so that they can be sent
// if it asks for them.

#ifndef ROCKSYNC_REPLICATION_STREAM_ANNOUNCED_CHANGES_H_
#define ROCKSYNC_REPLICATION_STREAM_ANNOUNCED_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "replication/stream/spread.h"

namespace rocksync {

struct AnnouncedChange {
  uint64_t origin = 0;
  uint32_t family = 0;
  std::string key;
};

// The last kMost announced changes. Not thread-safe.
class AnnouncedChanges {
 public:
  static constexpr size_t kMost = size_t{1} << 13;  // changes, with their keys

  void Add(ShortHash hash, AnnouncedChange change) {
    if (!changes_.emplace(hash, std::move(change)).second) return;
    order_.push_back(hash);
    if (order_.size() <= kMost) return;
    changes_.erase(order_.front());
    order_.pop_front();
  }

  // Returns null if the change was never announced, or too long ago.
  const AnnouncedChange* Find(ShortHash hash) const {
    const auto found = changes_.find(hash);
    return found == changes_.end() ? nullptr : &found->second;
  }

 private:
  std::map<ShortHash, AnnouncedChange> changes_;
  std::deque<ShortHash> order_;  // the oldest first
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_ANNOUNCED_CHANGES_H_

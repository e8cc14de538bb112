// Group commit: one sync of the log covers all threads that wait for a sync.

#ifndef ROCKSYNC_REPLICATION_PEERING_GROUP_SYNC_H_
#define ROCKSYNC_REPLICATION_PEERING_GROUP_SYNC_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "rocksdb/status.h"

namespace rocksync {

// Shares syncs of the log between callers. A caller that comes while a sync
// runs waits for the next one. Thread-safe.
class GroupSync {
 public:
  // Returns once everything up to the change `number` is durable. `end` returns
  // the number of the last change so far. `sync` makes everything durable that
  // was there when it began. Returns an error only if a sync that this call
  // began failed.
  rocksdb::Status Cover(uint64_t number, const std::function<uint64_t()>& end,
                        const std::function<rocksdb::Status()>& sync);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool running_ = false;
  uint64_t covered_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_GROUP_SYNC_H_

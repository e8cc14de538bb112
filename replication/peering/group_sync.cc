#include "replication/peering/group_sync.h"

#include <algorithm>

namespace rocksync {

rocksdb::Status GroupSync::Cover(uint64_t number,
                                 const std::function<uint64_t()>& end,
                                 const std::function<rocksdb::Status()>& sync) {
  std::unique_lock lock(mutex_);
  while (covered_ < number) {
    if (running_) {
      changed_.wait(lock);
      continue;
    }
    running_ = true;
    lock.unlock();
    // All changes in the log by now were committed before the sync begins.
    const uint64_t covers = end();
    const rocksdb::Status status = sync();
    lock.lock();
    running_ = false;
    if (status.ok()) covered_ = std::max(covered_, covers);
    changed_.notify_all();
    if (!status.ok()) return status;
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync

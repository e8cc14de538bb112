// A storage view that reads no faster than it may. Applying is not slowed: it
// is bounded by what comes in, and by RocksDB's own write control.

#ifndef ROCKSYNC_REPLICATION_PEERING_THROTTLED_VIEW_H_
#define ROCKSYNC_REPLICATION_PEERING_THROTTLED_VIEW_H_

#include <functional>
#include <memory>

#include "replication/peering/token_bucket.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// `reads` is charged one for each element scanned, key looked up and value
// read; it must outlive the view. Once `stopped` returns true, nothing waits.
std::unique_ptr<StorageView> NewThrottledView(std::unique_ptr<StorageView> view,
                                              TokenBucket* reads,
                                              std::function<bool()> stopped);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_THROTTLED_VIEW_H_

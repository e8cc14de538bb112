// The protocol's view of a store: StorageView on RocksDB.

#ifndef ROCKSYNC_REPLICATION_STORE_ROCKSDB_VIEW_H_
#define ROCKSYNC_REPLICATION_STORE_ROCKSDB_VIEW_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "replication/session/storage_view.h"
#include "replication/store/store.h"
#include "replication/store/store_access.h"

namespace rocksync {

// See StoreAccess::NewView. `store` must outlive the view.
std::unique_ptr<ReplicaView> NewRocksDBView(
    Store* store, std::function<void(uint64_t reads)> read);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_ROCKSDB_VIEW_H_

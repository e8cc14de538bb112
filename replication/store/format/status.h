// Statuses of RocksDB as statuses of the protocol's floor.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_STATUS_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_STATUS_H_

#include "absl/status/status.h"
#include "rocksdb/status.h"

namespace rocksync {

absl::Status ToAbsl(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_STATUS_H_

// Statuses of RocksDB as statuses of the protocol's floor, and those as the
// application sees them.

#ifndef ROCKSYNC_REPLICATION_BASE_STATUS_H_
#define ROCKSYNC_REPLICATION_BASE_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "rocksdb/status.h"

namespace rocksync {

absl::Status ToAbsl(const rocksdb::Status& status);

// Control characters become '?': some of the text came from a peer.
rocksdb::Status ToRocksDb(const absl::Status& status);

// What a peer is told of a status of this replica: of its storage the kind, not
// the details, which name its paths and are for its own log.
std::string ToldToPeer(const rocksdb::Status& status);

// Whether a status of this replica's storage says that it failed, and making
// room does not help.
inline bool IsStorageFailure(const rocksdb::Status& status) {
  return !status.IsNoSpace() && (status.IsIOError() || status.IsCorruption());
}

// What ends such a failure, or a full disk: the end of a sentence.
const char* StorageRemedy(const rocksdb::Status& status);

// For this replica's own log and statistics, beside the name of a peer: a
// failure of its storage, with the remedy. Others are as they were.
rocksdb::Status NameOwnStorage(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_STATUS_H_

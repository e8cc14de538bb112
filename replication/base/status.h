// Converts RocksDB's statuses to absl::Status, which the protocol uses, and
// those back to what the application sees.

#ifndef ROCKSYNC_REPLICATION_BASE_STATUS_H_
#define ROCKSYNC_REPLICATION_BASE_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "rocksdb/status.h"

namespace rocksync {

absl::Status ToAbsl(const rocksdb::Status& status);

// Replaces control characters by '?', as some of the text came from a peer.
rocksdb::Status ToRocksDb(const absl::Status& status);

// Returns what a peer is told of a status of this replica. Of a storage error
// that is only the kind: the details name this replica's paths, and are for its
// own log.
std::string ToldToPeer(const rocksdb::Status& status);

// Whether a status of this replica's storage is a failure that making room does
// not end.
inline bool IsStorageFailure(const rocksdb::Status& status) {
  return !status.IsNoSpace() && (status.IsIOError() || status.IsCorruption());
}

// Returns what ends such a failure, or a full disk, as the end of a sentence.
const char* StorageRemedy(const rocksdb::Status& status);

// Says that a storage failure is this replica's own, with the remedy, for its
// own log and statistics, where it stands beside the name of a peer. Returns
// any other status as it was.
rocksdb::Status NameOwnStorage(const rocksdb::Status& status);

// Returns the error of a thread that the system does not start, with the
// remedy. `reason` may be empty.
rocksdb::Status NoThread(const std::string& reason);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_STATUS_H_

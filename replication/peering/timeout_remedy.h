// Adds to a timeout what to do about a peer that was too slow for io_timeout.
// For sessions, streams and clones, which io_timeout limits. The
// authentication, which has a limit of its own, names no such remedy.

#ifndef ROCKSYNC_REPLICATION_PEERING_TIMEOUT_REMEDY_H_
#define ROCKSYNC_REPLICATION_PEERING_TIMEOUT_REMEDY_H_

#include "rocksdb/status.h"

namespace rocksync {

// Returns a timeout with its remedy, and any other status as it is.
rocksdb::Status AddTimeoutRemedy(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_TIMEOUT_REMEDY_H_

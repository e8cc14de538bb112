// What to do about a peer that was too slow for io_timeout. For sessions,
// streams and clones, whose limit that is; what has a limit of its own, as the
// authentication has, names no such remedy.

#ifndef ROCKSYNC_REPLICATION_PEERING_SLOW_NETWORK_H_
#define ROCKSYNC_REPLICATION_PEERING_SLOW_NETWORK_H_

#include "rocksdb/status.h"

namespace rocksync {

// A timeout with its remedy; every other status as it is.
rocksdb::Status NameRemedy(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SLOW_NETWORK_H_

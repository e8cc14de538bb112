// A child of fork has none of the threads of its parent, and shares its files:
// RocksDB makes its threads once for a process, so that a database that is
// opened there waits for them without end, and what is written there by a
// database of the parent goes into the middle of the parent's log.

#ifndef ROCKSYNC_REPLICATION_BASE_FORKED_H_
#define ROCKSYNC_REPLICATION_BASE_FORKED_H_

#include "rocksdb/status.h"

namespace rocksync {

// Before each opening of a database. NotSupported: an earlier one was in
// another process, of which this one is a child. Thread-safe.
rocksdb::Status CheckNotForked();

// Whether this process is a child of fork of one that had opened a database.
// Thread-safe; costs a load.
bool InForkedChild();

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_FORKED_H_

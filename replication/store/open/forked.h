// A child of fork has none of the threads of its parent, and RocksDB makes its
// own once for a process: a database that is opened there would wait for them
// without end.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_FORKED_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_FORKED_H_

#include "rocksdb/status.h"

namespace rocksync {

// Before each opening of a database. NotSupported: an earlier one was in
// another process, of which this one is a child. Thread-safe.
rocksdb::Status CheckNotForked();

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_FORKED_H_

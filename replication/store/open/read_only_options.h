// Options to open a database for reading only, to find out what an opening for
// writing would do.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_READ_ONLY_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_READ_ONLY_OPTIONS_H_

#include "rocksdb/options.h"
#include "rocksdb/wal_filter.h"

namespace rocksync {

// Returns the application's options, without what of it would notice the
// opening or be charged for it. `filter` says what of the log is replayed: all
// of it would have to fit into memory.
rocksdb::DBOptions ReadOnlyOptions(rocksdb::DBOptions options,
                                   rocksdb::WalFilter* filter);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_READ_ONLY_OPTIONS_H_

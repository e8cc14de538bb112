// What an OPTIONS file may choose for a process that is not the application's.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_

#include "rocksdb/options.h"

namespace rocksync {

// The file may have come with a copy, from a peer that writes into it what it
// likes; and by some values RocksDB starts thousands of threads, allocates all
// of the memory or ends the process. So these take over what says how the
// database is read and what its tables look like, and leave everything else at
// its default. Nothing is dropped by a FIFO compaction, or by age.
rocksdb::DBOptions BoundedOptions(const rocksdb::DBOptions& file);
rocksdb::ColumnFamilyOptions BoundedFamilyOptions(
    const rocksdb::ColumnFamilyOptions& file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_

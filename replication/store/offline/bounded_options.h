// Bounds what an OPTIONS file may choose for a process that is not the
// application's.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_

#include "rocksdb/options.h"

namespace rocksync {

// Take over from an OPTIONS file how the database is read and what its tables
// look like, and leave everything else at its default. The file may have come
// with a copy, from a peer that writes into it what it likes; some values make
// RocksDB start thousands of threads, allocate all memory or end the process.
// No FIFO compaction drops anything, and nothing is dropped by age.
rocksdb::DBOptions BoundedOptions(const rocksdb::DBOptions& file);
rocksdb::ColumnFamilyOptions BoundedFamilyOptions(
    const rocksdb::ColumnFamilyOptions& file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_

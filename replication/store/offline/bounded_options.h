// What an OPTIONS file may choose for a process that is not the application's.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_

#include "rocksdb/options.h"

namespace rocksync {

// The file may have come with a copy, from a peer that writes into it what it
// likes. These bound the options by which RocksDB starts threads and allocates
// memory before anything is written, and leave what says how tables are read.
void BoundResources(rocksdb::DBOptions* options);
void BoundResources(rocksdb::ColumnFamilyOptions* options);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_BOUNDED_OPTIONS_H_

// The options of the index column family. docs/design_writes.md has the
// measurements.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_OPTIONS_H_

#include <memory>

#include "replication/store/index/bucket_memtable.h"
#include "replication/store/index/hash_completion.h"
#include "rocksdb/options.h"
#include "rocksdb/write_buffer_manager.h"
#include "rocksync/options.h"

namespace rocksync {

// Returns the memtable's factory. `budget` may be null. If it is smaller than
// the index's write buffer, it determines the memtable's shape.
std::shared_ptr<BucketMemtableFactory> NewIndexMemtable(
    const ReplicatedDBOptions& options,
    std::shared_ptr<rocksdb::WriteBufferManager> budget);

// Returns the family's options. `completion` may be null: then pending hashes
// stay pending.
rocksdb::ColumnFamilyOptions IndexFamilyOptions(
    const ReplicatedDBOptions& options,
    std::shared_ptr<BucketMemtableFactory> memtable,
    std::shared_ptr<HashCompletionFactory> completion);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_OPTIONS_H_

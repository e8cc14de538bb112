// How the index column family is stored. docs/design_writes.md has what was
// measured.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_OPTIONS_H_

#include <memory>

#include "replication/store/index/bucket_memtable.h"
#include "replication/store/index/hash_completion.h"
#include "rocksdb/options.h"
#include "rocksdb/write_buffer_manager.h"
#include "rocksync/options.h"

namespace rocksync {

// `budget` may be null. If it is smaller than the index's write buffer, the
// memtable is shaped by it.
std::shared_ptr<BucketMemtableFactory> NewIndexMemtable(
    const ReplicatedDBOptions& options,
    std::shared_ptr<rocksdb::WriteBufferManager> budget);

// `completion` may be null: pending hashes then stay pending.
rocksdb::ColumnFamilyOptions IndexFamilyOptions(
    const ReplicatedDBOptions& options,
    std::shared_ptr<BucketMemtableFactory> memtable,
    std::shared_ptr<HashCompletionFactory> completion);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_INDEX_OPTIONS_H_

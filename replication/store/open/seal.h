// Writes the last record of a clean close, by which the next opening knows that
// nobody wrote to the database in between.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_SEAL_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_SEAL_H_

#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace rocksync {

// Writes `batch` and after it the seal, as one synced write. `families` are the
// replicated ones; `has_digests` says that the index holds digests of their
// latest state. Returns Incomplete as ClosedUnsealed does.
//
// REQUIRES: nobody writes, and nothing but closing the database follows:
// compactions are stopped permanently, and no flush begins any more.
rocksdb::Status WriteSeal(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
    const std::vector<rocksdb::ColumnFamilyHandle*>& families, bool has_digests,
    rocksdb::WriteBatch* batch);

// Returns Incomplete, which says that RocksDB stalls writes, and nothing ends
// that any more.
rocksdb::Status ClosedUnsealed();

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_SEAL_H_

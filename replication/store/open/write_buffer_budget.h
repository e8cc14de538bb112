// Fits a database to a WriteBufferManager that the application's families and
// the index share.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_WRITE_BUFFER_BUDGET_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_WRITE_BUFFER_BUDGET_H_

#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace rocksync {

// Readies `*options` for a database of these families and an index.
//
// RocksDB stalls all writes while a manager with allow_stall is over its
// budget, and flushes one family only, the one with the oldest memtable. With a
// second family, as the index is, the memory may be in the other one, and then
// the stall never ends. So such a database gets atomic_flush: all of its
// families are flushed at once, and nothing is left that a flush could free.
//
// Returns InvalidArgument if the budget is smaller than empty memtables are,
// for enable_pipelined_write, which atomic_flush does not go with, and for what
// CheckKeptMemtables refuses.
rocksdb::Status FitWriteBufferBudget(
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    rocksdb::DBOptions* options);

// Returns InvalidArgument if the manager may stall writes, and memtables that
// are kept after a flush (max_write_buffer_size_to_maintain) can make a stall
// last without end. They are part of the budget. RocksDB flushes once it is
// used up and a flush would free half of it: if kept memtables can take the
// other half, a stall never ends.
rocksdb::Status CheckKeptMemtables(
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const rocksdb::DBOptions& options);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_WRITE_BUFFER_BUDGET_H_

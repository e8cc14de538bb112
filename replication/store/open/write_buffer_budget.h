// A WriteBufferManager shared by the application's families and the index.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_WRITE_BUFFER_BUDGET_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_WRITE_BUFFER_BUDGET_H_

#include <cstddef>

#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace rocksync {

// Readies `*options` for a database of so many families and an index.
//
// RocksDB stalls all writes while a manager with allow_stall is over its
// budget, and flushes one family only, the one with the oldest memtable. With a
// second family, as the index is, the memory may be in the other one, and then
// the stall never ends. So such a database gets atomic_flush: all of its
// families go at once, and nothing is left that a flush could free.
//
// InvalidArgument: the budget is smaller than empty memtables are, or
// enable_pipelined_write, which atomic_flush does not go with.
rocksdb::Status FitWriteBufferBudget(size_t families,
                                     rocksdb::DBOptions* options);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_WRITE_BUFFER_BUDGET_H_

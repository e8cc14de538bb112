// What the library knows of the bytes of a WriteBatch, as RocksDB's
// write_batch.cc describes them: a header of 12 bytes (sequence number, count),
// then a record for each operation.

#ifndef ROCKSYNC_REPLICATION_BASE_WRITE_BATCH_FORMAT_H_
#define ROCKSYNC_REPLICATION_BASE_WRITE_BATCH_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rocksdb/write_batch.h"

namespace rocksync {

// Returns the sequence number of the first operation, for a batch from a log.
uint64_t SequenceOf(const rocksdb::WriteBatch& batch);

// Returns the length of a batch that holds one Put with a value of
// `value_bytes`, or one Delete (nullopt), and nothing else.
size_t BytesOfOneOperation(uint32_t family_id, size_t key_bytes,
                           std::optional<size_t> value_bytes);

// Whether a TransactionDB has prepared this batch by the policy WRITE_PREPARED
// or WRITE_UNPREPARED. Such a batch is in the memtable, and soon in tables,
// before it is committed.
bool IsWrittenBeforeCommit(const rocksdb::WriteBatch& batch);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_WRITE_BATCH_FORMAT_H_

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

// The sequence number of the first operation, as a log has it.
uint64_t SequenceOf(const rocksdb::WriteBatch& batch);

// How long a batch is that holds one Put, of a value of `value_bytes`, or one
// Delete (nullopt), and nothing else.
size_t BytesOfOneOperation(uint32_t family_id, size_t key_bytes,
                           std::optional<size_t> value_bytes);

// Of a batch that a TransactionDB has prepared: by one of the policies
// WRITE_PREPARED and WRITE_UNPREPARED, with which it is in the memtable, and
// soon in tables, before it is committed.
bool IsWrittenBeforeCommit(const rocksdb::WriteBatch& batch);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_WRITE_BATCH_FORMAT_H_

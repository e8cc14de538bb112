// What openings dropped of the log, as it was behind a damaged place (see
// PreflightResult::log_batches_dropped). A file of its own in the database's
// directory, since RocksDB removes the log with the opening: the next opening,
// after a start that failed later, for example, still learns of it.
//
//   file := line*        line := log's number, " ", batches, "\n"   (decimal)

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_DROPPED_BATCHES_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_DROPPED_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

inline constexpr char kDroppedBatchesFileName[] = "ROCKSYNC.dropped";

// By the number of the log's file, so that a log is not counted twice whose
// opening ended before RocksDB removed it.
using DroppedBatches = std::map<uint64_t, uint64_t>;

// More logs than a disk loses; the file stays small whatever happens.
inline constexpr size_t kMaxDroppedLogs = 256;

uint64_t TotalOf(const DroppedBatches& dropped);

// Adds what the file says of logs that `dropped` does not name. Lines that do
// not read are left out, as the database's LOG has the warning, too. OK if
// there is no file.
rocksdb::Status ReadDroppedBatches(rocksdb::Env* env,
                                   const std::string& directory,
                                   DroppedBatches* dropped);
// The same, and then the file says what `dropped` does. Durable when it
// returns. REQUIRES: the directory is there.
rocksdb::Status NoteDroppedBatches(rocksdb::Env* env,
                                   const std::string& directory,
                                   DroppedBatches* dropped);
// OK also if there is none.
rocksdb::Status ForgetDroppedBatches(rocksdb::Env* env,
                                     const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_DROPPED_BATCHES_H_

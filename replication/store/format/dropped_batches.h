// The record of batches that openings dropped from the log, as they were behind
// a damaged place (see PreflightResult::log_batches_dropped). It is a file of
// its own in the database's directory, since RocksDB removes the log at the
// opening: so the next opening still learns of it, for example after a start
// that failed later.
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

// The number of dropped batches by the number of the log's file. So a log whose
// opening ended before RocksDB removed it is not counted twice.
using DroppedBatches = std::map<uint64_t, uint64_t>;

// More logs than a disk ever loses; the limit keeps the file small in any case.
inline constexpr size_t kMaxDroppedLogs = 256;

uint64_t TotalOf(const DroppedBatches& dropped);

// Adds what the file says of logs that `dropped` does not name. Returns OK if
// there is no file. Leaves out lines that do not parse, as the database's LOG
// has the warning, too.
rocksdb::Status ReadDroppedBatches(rocksdb::Env* env,
                                   const std::string& directory,
                                   DroppedBatches* dropped);
// Reads the file as above, and then writes `dropped` to it. Durable when it
// returns. REQUIRES: the directory exists.
rocksdb::Status NoteDroppedBatches(rocksdb::Env* env,
                                   const std::string& directory,
                                   DroppedBatches* dropped);
// Removes the file. Returns OK also if there is none.
rocksdb::Status ForgetDroppedBatches(rocksdb::Env* env,
                                     const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_DROPPED_BATCHES_H_

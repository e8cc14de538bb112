// Reads what a file of RocksDB's write-ahead log says of itself, without
// RocksDB, which reports what it leaves out of a log only in its LOG.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_LOG_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_LOG_RECORDS_H_

#include <cstdint>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Sets `*named` to whether the records of the log file `path` name its number,
// as they do where files are recycled (DBOptions::recycle_log_file_num); false
// also if there are none. Under a number that differs in its last 32 bits
// RocksDB takes such records for those of an earlier log, and reads none of
// them.
rocksdb::Status RecordsNameTheLog(rocksdb::Env* env, const std::string& path,
                                  bool* named);

struct SoundBatches {
  uint64_t count = 0;
  // A sound batch follows a place that does not read. What a kill cuts off, or
  // RocksDB has allocated and not written to, is at the end.
  bool behind_damage = false;
};

// Counts the batches of the log file `path`, number `number`, that are whole
// and whose checksums match. Includes those behind a damaged place, where
// RocksDB reads nothing more, or nothing more of the block. The first `known`
// of them are known to be sound, and not checked. A value that holds a log of
// RocksDB, in a damaged record, may be taken for a part of this log.
rocksdb::Status CountSoundBatches(rocksdb::Env* env, const std::string& path,
                                  uint64_t number, uint64_t known,
                                  SoundBatches* batches);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOG_RECORDS_H_

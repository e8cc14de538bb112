// What a file of RocksDB's write-ahead log says of itself.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_LOG_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_LOG_RECORDS_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Whether the records of the log file `path` name its number, as they do where
// files are used again (DBOptions::recycle_log_file_num). RocksDB takes such
// records for those of an earlier log, and reads none of them, under a number
// that differs in its last 32 bits. False: they do not, or there are none.
rocksdb::Status RecordsNameTheLog(rocksdb::Env* env, const std::string& path,
                                  bool* named);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_LOG_RECORDS_H_

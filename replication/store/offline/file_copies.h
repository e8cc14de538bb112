// Files of an offline database, copied into another directory.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_FILE_COPIES_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_FILE_COPIES_H_

#include <cstdint>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Durable when it returns. Block by block: a table or a log may be larger than
// the memory.
rocksdb::Status CopyFile(rocksdb::Env* env, const std::string& from,
                         const std::string& to);

struct CopiedLogs {
  std::string unreadable;  // the first one that was left out, and why
  // The first one with sound batches behind a damaged place; empty: none has.
  std::string damaged;
  uint64_t sound_batches = 0;  // in all that were copied
};

// Copies the logs in `wal_dir` to a database in `directory`, in place of the
// log of an opening there, in which there is nothing. They get larger numbers
// than any that are in use there: RocksDB passes over those that it takes to be
// in tables. A log that cannot be read under another number is left out.
rocksdb::Status CopyLogs(rocksdb::Env* env, const std::string& wal_dir,
                         const std::string& directory, CopiedLogs* copied);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_FILE_COPIES_H_

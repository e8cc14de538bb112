// Copies files of an offline database into another directory.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_FILE_COPIES_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_FILE_COPIES_H_

#include <cstdint>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Copies a file and syncs it; its directory is for the caller to sync. Copies
// block by block: a table or a log may be larger than the memory.
rocksdb::Status CopyFile(rocksdb::Env* env, const std::string& from,
                         const std::string& to);

struct CopiedLogs {
  std::string unreadable;  // the first one that was left out, and why
  // The first log with sound batches behind a damaged place; empty if there is
  // none.
  std::string damaged;
  uint64_t sound_batches = 0;  // in all logs that were copied
};

// Copies the logs in `wal_dir` to a database in `directory`, in place of the
// empty log that its opening left. The copies get larger numbers than any in
// use there: RocksDB passes over logs that it takes to be in tables. Leaves out
// a log that cannot be read under another number.
rocksdb::Status CopyLogs(rocksdb::Env* env, const std::string& wal_dir,
                         const std::string& directory, CopiedLogs* copied);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_FILE_COPIES_H_

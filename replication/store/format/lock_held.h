// Why RocksDB's lock of a directory was not taken.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_LOCK_HELD_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_LOCK_HELD_H_

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Of the error of Env::LockFile: whether somebody holds the lock. False if its
// file was not opened, since the file system is read-only or full, for example.
// Only the text tells the two apart. To open the file again would not do: that
// ends a lock which this process holds on it, as POSIX has it.
inline bool IsLockHeld(const rocksdb::Status& status) {
  return !status.IsPathNotFound() && !status.IsNoSpace() &&
         status.ToString().find("open a file for lock") == std::string::npos;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_LOCK_HELD_H_

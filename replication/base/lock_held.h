// Why RocksDB's lock of a directory was not taken.

#ifndef ROCKSYNC_REPLICATION_BASE_LOCK_HELD_H_
#define ROCKSYNC_REPLICATION_BASE_LOCK_HELD_H_

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Whether an error of Env::LockFile means that somebody holds the lock. False
// if its file was not opened, since the file system is read-only or full, for
// example: only the text tells the two apart. Do not find out by opening the
// file: closing it would drop a lock that this process holds on it (POSIX).
inline bool IsLockHeld(const rocksdb::Status& status) {
  return !status.IsPathNotFound() && !status.IsNoSpace() &&
         status.ToString().find("open a file for lock") == std::string::npos;
}

// Of the error of an opening: who has the database open already, to go behind
// its name; null if that is not what failed. RocksDB's own text tells.
inline const char* WhoHasItOpen(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  if (text.find("lock hold by current process") != std::string::npos) {
    return "is open in this process already, close it first";
  }
  if (text.find("While lock file") != std::string::npos &&
      text.find("temporarily unavailable") != std::string::npos) {
    return "is in use by another process, stop that one first";
  }
  return nullptr;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_LOCK_HELD_H_

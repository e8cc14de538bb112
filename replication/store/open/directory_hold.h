// RocksDB's lock of a directory, for a moment before RocksDB takes it.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_HOLD_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_HOLD_H_

#include <string>

#include "rocksdb/env.h"

namespace rocksync {

// Held while it lives, if nobody has the database open. Makes the file LOCK if
// it is not there.
class DirectoryHold {
 public:
  DirectoryHold(rocksdb::Env* env, const std::string& name) : env_(env) {
    if (!env->LockFile(name + "/LOCK", &lock_).ok()) lock_ = nullptr;
  }
  ~DirectoryHold() {
    if (lock_ != nullptr) env_->UnlockFile(lock_).PermitUncheckedError();
  }
  DirectoryHold(const DirectoryHold&) = delete;
  DirectoryHold& operator=(const DirectoryHold&) = delete;

  bool held() const { return lock_ != nullptr; }

 private:
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_HOLD_H_

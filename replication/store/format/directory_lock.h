// RocksDB's lock of a database's directory, taken without opening the database:
// who holds it knows that nobody else has the database open.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_DIRECTORY_LOCK_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_DIRECTORY_LOCK_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Held while it lives, if `status` is OK. Makes the file LOCK if it is not
// there. RocksDB takes the lock itself when it opens the database for writing,
// so end it first.
class DirectoryLock {
 public:
  DirectoryLock(rocksdb::Env* env, const std::string& directory)
      : env_(env), status_(env->LockFile(directory + "/LOCK", &lock_)) {}
  ~DirectoryLock() {
    if (status_.ok()) env_->UnlockFile(lock_).PermitUncheckedError();
  }

  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
  const rocksdb::Status status_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_DIRECTORY_LOCK_H_

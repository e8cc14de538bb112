// RocksDB's lock of a database's directory, taken without opening the database.
// Its holder knows that nobody else has the database open.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_LOCK_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_LOCK_H_

#include <memory>
#include <string>
#include <utility>

#include "replication/store/directory/directory_claim.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Holds the lock while it lives, if `status` is OK. Creates the file LOCK if it
// does not exist. RocksDB takes the lock itself when it opens the database for
// writing, so end this one first.
class DirectoryLock {
 public:
  // Takes the lock. Pass a claim: without one, an instance in this process that
  // has the directory open would lose RocksDB's lock when this one ends.
  DirectoryLock(rocksdb::Env* env, const std::string& directory,
                std::unique_ptr<DirectoryClaim> claim = nullptr)
      : claim_(std::move(claim)),
        env_(env),
        status_(env->LockFile(directory + "/LOCK", &lock_)) {}
  ~DirectoryLock() {
    if (status_.ok()) env_->UnlockFile(lock_).PermitUncheckedError();
  }

  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  const rocksdb::Status& status() const { return status_; }

 private:
  const std::unique_ptr<DirectoryClaim> claim_;
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
  const rocksdb::Status status_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_LOCK_H_

// RocksDB's lock of a database's directory, taken without opening the database:
// who holds it knows that no other process has the database open.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_LOCK_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// IOError: the user of this process may not read `path`, or not write it, for
// example a directory or the file LOCK in it. OK if it is not there.
rocksdb::Status CheckMayRead(const std::string& path);
rocksdb::Status CheckMayWrite(const std::string& path);

// Nothing can be locked there. Another mount of the file system may be
// writable.
bool OnReadOnlyFileSystem(const std::string& directory);
// IOError: a process has the database there open, by another mount. Looks only
// at this moment, and takes no lock.
rocksdb::Status CheckFreeToRead(const std::string& directory);

class DirectoryLock {
 public:
  // IOError: the database is in use, or this process may not write the file
  // LOCK. Makes the file if it is not there. RocksDB takes the lock itself when
  // it opens the database for writing, so release it first.
  static rocksdb::Status Take(rocksdb::Env* env, const std::string& directory,
                              std::unique_ptr<DirectoryLock>* lock);
  ~DirectoryLock();

  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(rocksdb::Env* env) : env_(env) {}

  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
};

// Before a database is opened for writing: it is not in use, and this process
// may write to its directory. RocksDB's own errors tell neither.
rocksdb::Status CheckFreeToWrite(rocksdb::Env* env,
                                 const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_LOCK_H_

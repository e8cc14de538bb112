// Whether this process may read or write a database that nobody has open, and
// that nobody has it open. RocksDB's own errors tell neither.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_ACCESS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_ACCESS_H_

#include <memory>
#include <string>

#include "replication/store/directory/directory_lock.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Nothing can be locked there. Another mount of the file system may be
// writable.
bool OnReadOnlyFileSystem(const std::string& directory);
// IOError: a process has the database there open, by another mount. Looks only
// at this moment, and takes no lock.
rocksdb::Status CheckFreeToRead(const std::string& directory);

// IOError: the database is in use, or this process may not write the file LOCK.
rocksdb::Status LockDirectory(rocksdb::Env* env, const std::string& directory,
                              std::unique_ptr<DirectoryLock>* lock);

// Before a database is opened for writing: it is not in use, and this process
// may write to its directory.
rocksdb::Status CheckFreeToWrite(rocksdb::Env* env,
                                 const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_ACCESS_H_

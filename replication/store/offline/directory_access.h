// Checks whether this process may read or write an offline database, and that
// nobody has it open. RocksDB's own errors tell neither.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_ACCESS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_ACCESS_H_

#include <memory>
#include <string>

#include "replication/store/directory/directory_lock.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Returns whether the directory is on a read-only file system, where nothing
// can be locked. Another mount of that may be writable.
bool OnReadOnlyFileSystem(const std::string& directory);
// Returns IOError if a process has the database there open, by another mount,
// or if this process may not read the file LOCK. Looks only at this moment, and
// takes no lock.
rocksdb::Status CheckFreeToRead(const std::string& directory);

// Takes RocksDB's lock. Returns IOError if the database is in use, or this
// process may not write the file LOCK.
rocksdb::Status LockDirectory(rocksdb::Env* env, const std::string& directory,
                              std::unique_ptr<DirectoryLock>* lock);

// Checks, before a database is opened for writing, that it is not in use, and
// that this process may write to its directory.
rocksdb::Status CheckFreeToWrite(rocksdb::Env* env,
                                 const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_DIRECTORY_ACCESS_H_

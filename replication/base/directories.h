// Directories: their names, permissions, and durable changes of what is in one.

#ifndef ROCKSYNC_REPLICATION_BASE_DIRECTORIES_H_
#define ROCKSYNC_REPLICATION_BASE_DIRECTORIES_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Checks that the name of a database's directory is not empty. Returns
// InvalidArgument if it is: the files would be looked for in the root of the
// file system.
rocksdb::Status CheckDatabaseName(const std::string& name);

// Makes durable which files are in the directory.
rocksdb::Status SyncDirectory(rocksdb::Env* env, const std::string& name);

// Exchanges two directories in one step: at no moment is either name without a
// directory, and no crash leaves one of them away. Returns NotSupported if the
// Env is not RocksDB's own, or if the file system cannot do it.
rocksdb::Status ExchangeDirectories(rocksdb::Env* env, const std::string& one,
                                    const std::string& other);

// Returns `path` as an absolute path without dots and without a slash at its
// end; empty if the Env does not know it. Links are not followed.
std::string AbsolutePath(rocksdb::Env* env, const std::string& path);

// Returns IOError if this process may not enter a directory above the absolute
// path, so that it sees nothing there; RocksDB's Env says NotFound then.
// Returns OK if the path does not exist.
rocksdb::Status CheckMayReach(const std::string& path);

// Returns IOError, naming the path, if this process may not enter a directory
// above `directory`, may not list it, or may not read a file of a database in
// it. RocksDB's own errors report missing or damaged files. Returns OK if
// nothing is there.
rocksdb::Status CheckMayReadFiles(const std::string& directory);
// Checks the directory of the database's log, too, unless `wal_dir` is empty:
// then it is the same.
rocksdb::Status CheckMayReadFiles(const std::string& directory,
                                  const std::string& wal_dir);

// Returns the error of access(2) for the effective user of this process; 0 if
// access is allowed. `how` combines R_OK, W_OK and X_OK. Files of another Env
// than RocksDB's own are reported as missing.
int WhyForbidden(const std::string& path, int how);

// Return IOError, with path and remedy, if this process may not read, or not
// write to, the file or directory `path`, or if its file system is read-only.
// They return OK if nothing is there.
rocksdb::Status CheckMayRead(const std::string& path);
rocksdb::Status CheckMayWrite(const std::string& path);

// Resolves the links of an absolute path, as far as the path exists.
std::string WithoutLinks(const std::string& path);

// Whether `path` is `directory` or lies in it, by the text of two absolute
// paths.
bool IsWithin(const std::string& path, const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_DIRECTORIES_H_

// Names of directories, and what makes durable which files are in one.

#ifndef ROCKSYNC_REPLICATION_BASE_DIRECTORIES_H_
#define ROCKSYNC_REPLICATION_BASE_DIRECTORIES_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// InvalidArgument: the name of a database's directory is empty, with which its
// files would be looked for in the file system's root.
rocksdb::Status CheckDatabaseName(const std::string& name);

// Makes durable which files are in it.
rocksdb::Status SyncDirectory(rocksdb::Env* env, const std::string& name);

// Puts each of two directories in the place of the other, in one step: at no
// moment is nothing there, and no crash leaves one of them away. NotSupported:
// it is another Env than RocksDB's own, or the file system cannot.
rocksdb::Status ExchangeDirectories(rocksdb::Env* env, const std::string& one,
                                    const std::string& other);

// Absolute, without dots and without a slash at its end; empty if the Env does
// not know. Links are not followed.
std::string AbsolutePath(rocksdb::Env* env, const std::string& path);

// IOError: this process may not enter a directory above the absolute path, so
// that nothing there is seen. RocksDB's Env says NotFound then. OK of what is
// not there.
rocksdb::Status CheckMayReach(const std::string& path);

// IOError, by name: this process may not enter a directory above `directory`,
// not list it, or not read a file of a database in it. RocksDB's own errors
// tell of what is not there, or is damaged. OK of what is not there.
rocksdb::Status CheckMayReadFiles(const std::string& directory);
// And in the directory of its log; empty: it is the same.
rocksdb::Status CheckMayReadFiles(const std::string& directory,
                                  const std::string& wal_dir);

// The error of access(2) for the effective user of this process; 0: it may.
// `how` is of R_OK, W_OK and X_OK. Of the files of another Env than RocksDB's
// own it says that they are not there.
int WhyForbidden(const std::string& path, int how);

// IOError, by name and with the remedy: this process may not read the file
// `path`, or not write to it, or to the directory; or its file system is
// read-only. OK of what is not there.
rocksdb::Status CheckMayRead(const std::string& path);
rocksdb::Status CheckMayWrite(const std::string& path);

// Where the links of an absolute path lead, as far as it is there.
std::string WithoutLinks(const std::string& path);

// Of absolute paths, by their text: `path` is `directory`, or in it.
bool IsWithin(const std::string& path, const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_DIRECTORIES_H_

// Making the directory of a database.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_MAKE_DIRECTORY_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_MAKE_DIRECTORY_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Of the error of making it, RocksDB's or our own: with the remedy if the one
// above it is not there.
inline rocksdb::Status NameMissingParent(const rocksdb::Status& status,
                                         const std::string& directory) {
  const std::string text = status.ToString();
  if (text.find("While mkdir") == std::string::npos ||
      text.find("No such file") == std::string::npos) {
    return status;
  }
  return rocksdb::Status::IOError(
      "rocksync: " + directory + " cannot be made",
      "make the directory above it first, with mkdir -p: " + text);
}

inline rocksdb::Status MakeDirectory(rocksdb::Env* env,
                                     const std::string& directory) {
  return NameMissingParent(env->CreateDirIfMissing(directory), directory);
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_MAKE_DIRECTORY_H_

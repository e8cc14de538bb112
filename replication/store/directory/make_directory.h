// Creates the directory of a database.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_MAKE_DIRECTORY_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_MAKE_DIRECTORY_H_

#include <filesystem>
#include <string>
#include <system_error>

#include "replication/base/rocksdb_errors.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Adds the remedy to an error of making the directory, RocksDB's or this
// library's.
inline rocksdb::Status NameCannotBeMade(const rocksdb::Status& status,
                                        const std::string& directory) {
  std::error_code unknown;
  if (std::filesystem::is_symlink(directory, unknown) &&
      !std::filesystem::exists(directory, unknown)) {
    return rocksdb::Status::IOError(
        "rocksync: " + directory + " is a link to what is not there, " +
            std::filesystem::read_symlink(directory, unknown).string(),
        "make that directory, or remove the link");
  }
  const DirectoryFault fault = DirectoryFaultOf(status);
  if (fault == DirectoryFault::kNone) return status;
  if (fault == DirectoryFault::kIsFile) {
    return rocksdb::Status::IOError("rocksync: " + directory + " is a file",
                                    "give a directory");
  }
  const std::string message = "rocksync: " + directory + " cannot be made";
  const std::string remedy =
      (fault == DirectoryFault::kNoParent
           ? "make the directory above it first, with mkdir -p: "
           : "let the process write there and make room, or give another "
             "directory: ") +
      status.ToString();
  return status.IsNoSpace() ? rocksdb::Status::NoSpace(message, remedy)
                            : rocksdb::Status::IOError(message, remedy);
}

inline rocksdb::Status MakeDirectory(rocksdb::Env* env,
                                     const std::string& directory) {
  return NameCannotBeMade(env->CreateDirIfMissing(directory), directory);
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_MAKE_DIRECTORY_H_

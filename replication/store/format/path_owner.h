// Whose files are in a directory outside of a database's own (wal_dir,
// db_paths, cf_paths): a file there, ROCKSYNC.owner, names the database. So a
// copy of that database, or another one with the same options, is told from it.
//
// Both directories are named by path and by what the file system calls them:
// the database may have been moved, and the file may have been copied with the
// directory that it is in.
//
//   file := "1 " 6 numbers "\n" directory "\n" path "\n"
//
// The numbers, each with a space behind it but the last: device and inode of
// the database's directory, and of this one (0: not known), and the lengths of
// the two paths.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

inline constexpr char kOwnerFileName[] = "ROCKSYNC.owner";

// A directory, as it is now.
struct DirectoryName {
  std::string path;  // absolute
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: not known

  // By its path, or moved.
  bool Is(const DirectoryName& other) const;
};

DirectoryName NameOf(const std::string& path);

struct PathOwner {
  DirectoryName database;
  DirectoryName path;  // the directory that the file is in
};

std::string Encode(const PathOwner& owner);
// False if the bytes are damaged.
[[nodiscard]] bool Decode(std::string_view bytes, PathOwner* owner);

// NotFound: `path` has no such file. Corruption names it, and the remedy.
rocksdb::Status ReadOwner(rocksdb::Env* env, const std::string& path,
                          PathOwner* owner);
// Durable when it returns OK. REQUIRES: the directory is there.
rocksdb::Status WriteOwner(rocksdb::Env* env, const PathOwner& owner);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_

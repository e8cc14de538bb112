// Whose files are in a directory that a database's options name besides its own
// (wal_dir, db_paths, cf_paths), be it within that: a file there,
// ROCKSYNC.owner, names the database. So a copy of that database, or another
// one with the same options, is told from it.
//
// The database's own directory has a file of the same form, ROCKSYNC.paths, and
// both hold the same token, 8 random bytes: a database that has come to a
// directory's path, or to its inode, has another token or none. The two
// directories are named by path and by what the file system calls them: the
// database may have been moved, or copied with its token, and the file may have
// been copied with the directory that it is in.
//
//   file := "1 " token " " 6 numbers "\n" directory "\n" path "\n"
//
// The token is 16 hex digits. The numbers, each with a space behind it but the
// last: device and inode of the database's directory, and of the one that the
// file is in (0: not known), and the lengths of the two paths.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

inline constexpr char kOwnerFileName[] = "ROCKSYNC.owner";
inline constexpr char kPathsFileName[] = "ROCKSYNC.paths";

// A directory, as it is now.
struct DirectoryName {
  std::string path;  // absolute
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: not known

  // By its path, or by its inode.
  bool Is(const DirectoryName& other) const;
};

// Where links lead, as far as the system knows.
DirectoryName NameOf(const std::string& path);

struct PathOwner {
  uint64_t token = 0;
  DirectoryName database;
  DirectoryName path;  // the directory that the file is in
};

std::string Encode(const PathOwner& owner);
// False if the bytes are damaged.
[[nodiscard]] bool Decode(std::string_view bytes, PathOwner* owner);

// Of the file `name`, one of the two above. NotFound: `path` has no such file.
// Corruption names it, and the remedy.
rocksdb::Status ReadOwner(rocksdb::Env* env, const std::string& path,
                          const char* name, PathOwner* owner);

// What one of these files was before it was written or removed.
struct FormerOwner {
  std::string directory;
  const char* name;
  std::optional<PathOwner> owner;  // nullopt: no such file was there
};

// Writes nothing if that is there already. Durable when it returns OK.
// `*former` gets what was there. `replaces`: one that was there is replaced,
// else Busy: somebody has written it since the caller looked. REQUIRES: the
// directory is there.
rocksdb::Status WriteOwner(rocksdb::Env* env, const char* name,
                           const PathOwner& owner, bool replaces,
                           std::vector<FormerOwner>* former);
// NotFound: there is none.
rocksdb::Status RemoveOwner(rocksdb::Env* env, const std::string& directory,
                            const char* name, std::vector<FormerOwner>* former);
// Puts them back as they were, as far as it can.
void RestoreOwners(rocksdb::Env* env, const std::vector<FormerOwner>& former);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_

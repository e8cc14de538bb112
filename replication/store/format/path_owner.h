// Says whose files are in a directory that a database's options name besides
// its own (wal_dir, db_paths, cf_paths), be it inside its own: a file there,
// ROCKSYNC.owner, names the database. So the database is told from a copy of
// it, and from another one with the same options.
//
// The database's own directory has a file of the same form, ROCKSYNC.paths.
// Both files hold the same token, 8 random bytes: another database that came to
// the directory's path, or to its inode, has another token or none. Both
// directories are named by path and by device and inode: the database may have
// been moved, or copied with its token, and the file may have been copied with
// its directory.
//
//   file := "1 " token " " 6 numbers "\n" directory "\n" path "\n"
//
// The token is 16 hex digits. The numbers, separated by spaces: device and
// inode of the database's directory, device and inode of the directory that the
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

// A directory, named as it is now.
struct DirectoryName {
  std::string path;  // absolute
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: not known

  // Whether both have the same path, or the same inode.
  bool Is(const DirectoryName& other) const;
};

// Names the directory at `path`; resolves links, as far as the system knows
// them.
DirectoryName NameOf(const std::string& path);

struct PathOwner {
  uint64_t token = 0;
  DirectoryName database;
  DirectoryName path;  // the directory that the file is in
};

std::string Encode(const PathOwner& owner);
// Returns false if the bytes are damaged.
[[nodiscard]] bool Decode(std::string_view bytes, PathOwner* owner);

// Reads the file `name`, one of the two above, in `path`. Returns NotFound if
// there is none, and Corruption, with the file and the remedy, if it is
// damaged.
rocksdb::Status ReadOwner(rocksdb::Env* env, const std::string& path,
                          const char* name, PathOwner* owner);

// What one of these files held before it was written or removed.
struct FormerOwner {
  std::string directory;
  const char* name;
  std::optional<PathOwner> owner;  // nullopt: no such file was there
};

// Writes the file, unless it holds `owner` already. Durable when it returns OK.
// Adds what was there before to `*former`. If `replaces`, it replaces another
// owner; else it returns Busy: another database has written the file since the
// caller looked. REQUIRES: the directory exists.
rocksdb::Status WriteOwner(rocksdb::Env* env, const char* name,
                           const PathOwner& owner, bool replaces,
                           std::vector<FormerOwner>* former);
// Removes the file, and adds it to `*former`. NotFound: there is none.
rocksdb::Status RemoveOwner(rocksdb::Env* env, const std::string& directory,
                            const char* name, std::vector<FormerOwner>* former);
// Restores the files as they were, as far as possible.
void RestoreOwners(rocksdb::Env* env, const std::vector<FormerOwner>& former);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_PATH_OWNER_H_

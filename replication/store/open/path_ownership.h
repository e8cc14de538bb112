// Whose a directory is that a database's options name for its log or its
// tables, by what is in it, and around it.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_PATH_OWNERSHIP_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_PATH_OWNERSHIP_H_

#include <string>
#include <vector>

#include "replication/store/format/path_owner.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync {

struct NamedPath {
  const char* option;
  std::string path;  // absolute
};

// The paths of the options that are not `directory` itself, the database's own,
// absolute. None if that is empty, as the Env does not know it.
std::vector<NamedPath> TablePathsElsewhere(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& directory);
// None, or one.
std::vector<NamedPath> LogPathElsewhere(const rocksdb::DBOptions& options,
                                        const std::string& directory);

// Where one does not read, RocksDB says so.
bool HoldsTables(rocksdb::Env* env, const std::string& path);
bool HoldsLogs(rocksdb::Env* env, const std::string& path);

enum class Ownership {
  kNobodys,
  kOwn,
  // Another database's:
  kDatabase,     // its own directory
  kNamed,        // as the file in it says, or the one above `archive`
  kNamedBefore,  // as that says, of one that was where this one is
  kWithin,       // it lies in its directory, and has files
};

struct FoundOwner {
  Ownership ownership = Ownership::kNobodys;
  std::string anothers;  // where that database was; kNobodys: the one around it

  bool IsAnothers() const { return ownership > Ownership::kOwn; }
};

// Of a path that is not `directory`, of the database that is there, or is to be
// made there. A directory that holds nothing belongs to whom it says, too, be
// that one there or not: what it writes there later would be taken for the
// other one's.
rocksdb::Status FindOwner(rocksdb::Env* env, const std::string& path,
                          const std::string& directory, FoundOwner* found);

// Of a directory for a new database: InvalidArgument if it lies, be it by
// links, in the directory of another one, or in one that is for that one's log
// or tables, by the file there.
rocksdb::Status CheckLiesInNoDatabase(rocksdb::Env* env,
                                      const std::string& path);

// If `path` ends in `archive`, the directory above it, without links; else
// empty.
std::string ArchivedLog(const std::string& path);

// Of the directory `archive` in `path`, which has the log: RocksDB moves logs
// that it keeps there, and removes what is there in time.
rocksdb::Status FindArchiveOwner(rocksdb::Env* env, const std::string& path,
                                 const std::string& directory,
                                 FoundOwner* found);

// What the database in `directory` says of itself; without a token, it has
// named no directory yet.
rocksdb::Status ReadOwn(rocksdb::Env* env, const std::string& directory,
                        PathOwner* own);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_PATH_OWNERSHIP_H_

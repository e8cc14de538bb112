// Finds which database owns a directory named by wal_dir, db_paths or cf_paths,
// by what is in it and around it.

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

// Returns the paths for tables in the options, absolute, except `directory`,
// the database's own. None if that is empty, as the Env does not know it.
std::vector<NamedPath> TablePathsElsewhere(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& directory);
// Returns the path of the log likewise: none, or one.
std::vector<NamedPath> LogPathElsewhere(const rocksdb::DBOptions& options,
                                        const std::string& directory);

// Return whether tables, or logs, are in `path`. If it does not read, RocksDB
// says so.
bool HoldsTables(rocksdb::Env* env, const std::string& path);
bool HoldsLogs(rocksdb::Env* env, const std::string& path);

enum class Ownership {
  kUnowned,
  kOwn,
  // These belong to another database:
  kDatabase,          // it is that one's own directory
  kNamed,             // the file in it, or the one above `archive`, says so
  kReplacedDatabase,  // that file names one that was where this one is
  kWithin,            // it lies in that one's directory, and has files
};

struct FoundOwner {
  Ownership ownership = Ownership::kUnowned;
  // Where the other database is or was; empty if kUnowned, kOwn or kWithin.
  std::string other = {};
  // The directory of another database, or of its log, that the path lies in; of
  // kWithin, and of kUnowned if there is one.
  std::string enclosing = {};

  bool IsOwnedByOther() const { return ownership > Ownership::kOwn; }
};

// Finds the owner of a path that is not `directory`, which is that of an
// existing database or of one to be made. An empty directory, too, belongs to
// the database that its file names, whether that one is there or not: what
// either writes there later would be taken for the other's.
rocksdb::Status FindOwner(rocksdb::Env* env, const std::string& path,
                          const std::string& directory, FoundOwner* found);

// Checks the directory for a new database. Returns InvalidArgument if it lies,
// possibly through links, in another database's directory, or in one that is
// for that one's log or tables, by the file there.
rocksdb::Status CheckLiesInNoDatabase(rocksdb::Env* env,
                                      const std::string& path);

// Returns the directory above `path`, without links, if `path` ends in
// `archive`; else an empty string.
std::string ArchivedLog(const std::string& path);

// Finds the owner of the directory `archive` in `path`, which has the log.
// RocksDB moves logs that it keeps there, and later removes what is there.
rocksdb::Status FindArchiveOwner(rocksdb::Env* env, const std::string& path,
                                 const std::string& directory,
                                 FoundOwner* found);

// Reads what the database in `directory` says of itself. Without a token it has
// named no directory yet.
rocksdb::Status ReadOwnRecord(rocksdb::Env* env, const std::string& directory,
                              PathOwner* own);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_PATH_OWNERSHIP_H_

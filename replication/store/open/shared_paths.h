// Refuses directories that a database's options name (wal_dir, db_paths,
// cf_paths) and that hold files of another database: RocksDB would replay that
// one's log, and delete what its own MANIFEST does not list. Each such
// directory has a file that names its database (format/path_owner.h). One
// without it (of a database that no opening of the library has seen) is judged
// by what the database itself says: its MANIFEST, its OPTIONS file, where its
// log is.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_SHARED_PATHS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_SHARED_PATHS_H_

#include <string>
#include <vector>

#include "replication/store/format/path_owner.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync {

// In all of these `directory` is the database's, absolute. If it is empty, as
// the Env does not know it, nothing is checked.

// What a database shows of itself.
enum class Known {
  kPlain,     // neither index nor marker
  kUnmarked,  // an index alone: a checkpoint, or what a backup or a repair made
  kReplica,   // a marker, by which its log has been looked for
};

// Checks the paths of a database, or of families, that are to be made. Returns
// InvalidArgument if they belong to another database, or hold a log or tables
// that are nobody's. For new families, what `directory` owns is its own.
rocksdb::Status CheckPathsAreFree(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& directory);

// Checks the paths of an existing database, which is called `name`. Returns
// InvalidArgument if they belong to another one, or hold its log or tables. May
// open the database for reading only, and reads the log then.
rocksdb::Status CheckPathsAreOwn(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& name, const std::string& directory, Known known);

// Returns InvalidArgument if `wal_dir` belongs to another database.
rocksdb::Status CheckLogIsNotAnothers(rocksdb::Env* env,
                                      const std::string& directory,
                                      const std::string& wal_dir);

// Makes the directories, and writes into each whose it is, before RocksDB
// writes there. `*former` gets what the files said before; RestoreOwners brings
// it back if the database did not open, or the family was not made. REQUIRES:
// the paths were checked, as above.
rocksdb::Status OwnPaths(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& directory, std::vector<FormerOwner>* former);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_SHARED_PATHS_H_

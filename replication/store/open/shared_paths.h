// Directories outside of a database's own (wal_dir, db_paths, cf_paths) that
// hold files of another database: RocksDB would replay that one's log, and
// delete what its own MANIFEST does not list.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_SHARED_PATHS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_SHARED_PATHS_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync {

// Of a database that is to be made in `directory`: InvalidArgument if there are
// tables in its paths. (Of its log see CheckNoLogIsThere.)
rocksdb::Status CheckNoTableIsThere(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& directory);

// Of a database in `directory` that was opened last in `opened_last`:
// InvalidArgument if that is another directory in which there still is a
// database, of which this is a copy then, and the options name paths with a log
// or tables, which are that one's. Both directories are absolute;
// `opened_last` may be empty.
rocksdb::Status CheckPathsAreNotTheOriginals(
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::string& directory, const std::string& opened_last);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_SHARED_PATHS_H_

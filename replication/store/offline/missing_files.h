// Which files an offline database lacks, as far as that is known.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_FILES_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_FILES_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace rocksync {

struct MissingFiles {
  // A table that the database lists and that is not there, as RocksDB names the
  // first one; empty: there is none, or the list (the MANIFEST) does not read.
  std::string table;
  // A file of the log that is not as the last close left it, the first one, and
  // why; empty: there is none, or nothing is known, as after a kill.
  std::string log;
};

// RocksDB opens no database that lacks a table, and names the first. A log that
// is lost the marker knows of. `empty_directory`: one without a log, as that
// would be read into memory. Changes nothing.
MissingFiles FindMissingFiles(
    rocksdb::Env* env, const std::string& directory, const std::string& wal_dir,
    const std::string& empty_directory, rocksdb::DBOptions options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_FILES_H_

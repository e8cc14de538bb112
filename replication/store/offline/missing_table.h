// Whether an offline database lacks tables.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_TABLE_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_TABLE_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace rocksync {

// A table that the database lists and that is not there: RocksDB opens none
// that lacks a table, and names the first. Empty: there is none, or the list
// (the MANIFEST) does not read. `empty_directory`: one without a log, as that
// would be read into memory. Changes nothing.
std::string FindMissingTable(
    rocksdb::Env* env, const std::string& directory,
    const std::string& empty_directory, rocksdb::DBOptions options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_TABLE_H_

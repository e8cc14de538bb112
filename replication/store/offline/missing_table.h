// Looks for tables that an offline database lacks.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_TABLE_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_TABLE_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace rocksync {

// Returns a table that the database lists and that is not there; empty if there
// is none, or the list (the MANIFEST) does not read. RocksDB opens no database
// that lacks a table, and names the first. `empty_directory` is one without a
// log, which would be read into memory. Changes nothing.
std::string FindMissingTable(
    rocksdb::Env* env, const std::string& directory,
    const std::string& empty_directory, rocksdb::DBOptions options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_MISSING_TABLE_H_

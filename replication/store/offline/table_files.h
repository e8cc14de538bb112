// Chooses among the tables in a database's directory, by what they say of
// themselves.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_TABLE_FILES_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_TABLE_FILES_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// The remedy where the OPTIONS file alone is not enough.
inline constexpr char kRepairByItsProgram[] =
    "call RocksDB's RepairDB from the program that uses the database, with its "
    "own options, on a copy of the directory";

// Adds those of the files `names` in `directory` that are tables to be kept to
// `*tables`. Of two with the same content, as interrupted openings leave them,
// one is kept. Returns NotSupported if one is ordered by another comparator
// than its family's.
rocksdb::Status TablesToKeep(
    rocksdb::Env* env, const std::string& directory,
    const std::vector<std::string>& names,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<std::string>* tables);

// Returns what the table says of itself: "3100 entries of the column family
// 'default'". Empty if that does not read either.
std::string DescribeTable(rocksdb::Env* env, const std::string& table);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_TABLE_FILES_H_

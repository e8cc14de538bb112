// The tables in the directory of a database, by what they say of themselves.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_TABLE_FILES_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_TABLE_FILES_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// The remedy where the OPTIONS file alone does not do.
inline constexpr char kRepairByItsProgram[] =
    "call RocksDB's RepairDB from the program that uses the database, with its "
    "own options, on a copy of the directory";

// Which of the files `names` in `directory` are tables to be kept: of two with
// the same content, as openings that were interrupted leave, one. NotSupported:
// one is ordered by another comparator than that of its family.
rocksdb::Status TablesToKeep(
    rocksdb::Env* env, const std::string& directory,
    const std::vector<std::string>& names,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<std::string>* tables);

// As the table says of itself: "3100 entries of the column family 'default'".
// Empty: that does not read either.
std::string DescribeTable(rocksdb::Env* env, const std::string& table);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_TABLE_FILES_H_

// RocksDB's OPTIONS file of a database: with what its last opening opened it.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

// What the newest OPTIONS file in `directory` says, which needs no MANIFEST.
// NotFound: there is none. What RocksDB cannot
// make by its name (comparators, merge operators and filters of an application)
// is left at RocksDB's default.
rocksdb::Status LoadOptionsFile(
    rocksdb::Env* env, const std::string& directory,
    rocksdb::DBOptions* options,
    std::vector<rocksdb::ColumnFamilyDescriptor>* families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_

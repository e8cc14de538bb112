// Reads RocksDB's OPTIONS file of a database: the options of its last opening.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

// Loads the newest OPTIONS file in `directory`, which needs no MANIFEST.
// Returns NotFound if there is none. What RocksDB cannot make by its name
// (comparators, merge operators and filters of an application) is left at
// RocksDB's default.
rocksdb::Status LoadOptionsFile(
    rocksdb::Env* env, const std::string& directory,
    rocksdb::DBOptions* options,
    std::vector<rocksdb::ColumnFamilyDescriptor>* families);

// Reads the name and the bytes of the newest OPTIONS file in `directory`.
// Returns NotFound or PathNotFound if there is none.
rocksdb::Status ReadOptionsFile(rocksdb::Env* env, const std::string& directory,
                                std::string* name, std::string* bytes);

// Reads what that file calls the merge operator of `family`, whether RocksDB
// can make it or not; empty if it has none.
rocksdb::Status MergeOperatorName(rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& family, std::string* name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_

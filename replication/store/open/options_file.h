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

// The newest OPTIONS file in `directory`, its name and its bytes. NotFound or
// PathNotFound: there is none.
rocksdb::Status ReadOptionsFile(rocksdb::Env* env, const std::string& directory,
                                std::string* name, std::string* bytes);

// What that file calls the merge operator of `family`, whether RocksDB can make
// it or not; empty: it has none.
rocksdb::Status MergeOperatorName(rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& family, std::string* name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_OPTIONS_FILE_H_

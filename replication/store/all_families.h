// Every family of a database that a tool opens.

#ifndef ROCKSYNC_REPLICATION_STORE_ALL_FAMILIES_H_
#define ROCKSYNC_REPLICATION_STORE_ALL_FAMILIES_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

// With the caller's options where given, save for the index, whose options are
// `index_options`. Nothing is compacted by itself: only what is asked for is to
// change.
rocksdb::Status AllFamilies(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& given,
    const rocksdb::ColumnFamilyOptions& index_options,
    std::vector<rocksdb::ColumnFamilyDescriptor>* all);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_ALL_FAMILIES_H_

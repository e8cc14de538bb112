// What happens between RocksDB's Open and a working store: is this our index,
// is it a copy, who wrote last, and what has to be read again?

#ifndef ROCKSYNC_REPLICATION_STORE_OPENING_H_
#define ROCKSYNC_REPLICATION_STORE_OPENING_H_

#include <memory>
#include <string>
#include <vector>

#include "replication/store/store.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Opens the database with its index. On success the caller owns `*db` (delete
// it after the store) and the handles. On error nothing stays open.
rocksdb::Status OpenStore(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles, rocksdb::DB** db,
    std::unique_ptr<Store>* store);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPENING_H_

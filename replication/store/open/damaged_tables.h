// Of which family a table is that RocksDB cannot read, and what to do about it.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_TABLES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_TABLES_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// What an opening of the database `name` failed with. If it is corruption that
// RocksDB reports: with the family of the table, as far as both say it, and the
// remedy. Everything else stays as it is.
rocksdb::Status NameDamagedTable(const rocksdb::Status& status,
                                 rocksdb::Env* env, const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_TABLES_H_

// Names the file of a database that RocksDB could not read, and what to do
// about it.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_FILES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_FILES_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Explains the status of a failed opening of the database `name`. If RocksDB
// reports corruption, or that the MANIFEST or a table is missing, returns
// Corruption with the file, the family of a table (as far as both are told) and
// the remedy, followed by RocksDB's own words; or NotSupported, if a newer
// RocksDB has written the database. Returns any other status unchanged.
rocksdb::Status NameDamagedFile(const rocksdb::Status& status,
                                rocksdb::Env* env, const std::string& name);

// Returns the path of the missing table, if that is why an opening failed; else
// an empty string.
std::string MissingTableOf(const rocksdb::Status& status,
                           const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_FILES_H_

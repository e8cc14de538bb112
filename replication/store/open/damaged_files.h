// Which file of a database RocksDB could not read, and what to do about it.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_FILES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_FILES_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// What an opening of the database `name` failed with. If RocksDB reports
// corruption, or that the MANIFEST is not there: Corruption with the file, of a
// table also its family, as far as both say it, and the remedy, before
// RocksDB's own words; or NotSupported, if a newer RocksDB has written it.
// Everything else stays as it is.
rocksdb::Status NameDamagedFile(const rocksdb::Status& status,
                                rocksdb::Env* env, const std::string& name);

// The path of the table that is not there, if that is what an opening failed
// with; else empty.
std::string MissingTableOf(const rocksdb::Status& status,
                           const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_FILES_H_

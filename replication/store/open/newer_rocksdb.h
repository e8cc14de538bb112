// Recognises a database that a newer RocksDB than this program's has written.
// Its files are sound, and look damaged to an older RocksDB.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_NEWER_ROCKSDB_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_NEWER_ROCKSDB_H_

#include <string>
#include <string_view>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Explains the status of a failed read of the database. Returns NotSupported,
// with both versions and the remedy, if the latest OPTIONS file is of a newer
// RocksDB. Returns the status unchanged unless it is RocksDB's word of
// corruption, or of a format_version in options.
rocksdb::Status NameNewerRocksDB(const rocksdb::Status& status,
                                 rocksdb::Env* env,
                                 const std::string& directory);

// Returns NotSupported, with both versions and the remedy, if the latest
// OPTIONS file is of a newer RocksDB, patch releases apart. Call it before
// anything is made of the database's files that takes unreadable ones for
// damaged.
rocksdb::Status CheckIsNotNewer(rocksdb::Env* env,
                                const std::string& directory);

// Returns whether, of two OPTIONS files or their first 4 KiB, a newer RocksDB
// has written the first. Returns false if either does not say which has written
// it.
bool IsOfNewerRocksDB(std::string_view options_file,
                      std::string_view than_options_file);

// Returns NotSupported, with both versions and the remedy, if this OPTIONS
// file, or its first 4 KiB, is of a newer RocksDB, patch releases apart, whose
// files this one may not read. Call it with a running replica's file before
// that is copied.
rocksdb::Status CheckSourceIsNotNewer(std::string_view options_file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_NEWER_ROCKSDB_H_

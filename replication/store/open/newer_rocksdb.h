// A database that a newer RocksDB has written than the one of this program. Its
// files are sound, and look damaged to an older RocksDB.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_NEWER_ROCKSDB_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_NEWER_ROCKSDB_H_

#include <string>
#include <string_view>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// What reading the database failed with; NotSupported in its place, with both
// versions and the remedy, if the latest OPTIONS file is of a newer RocksDB.
// What is not RocksDB's word of corruption, or of a format_version in options,
// stays as it is.
rocksdb::Status NameNewerRocksDB(const rocksdb::Status& status,
                                 rocksdb::Env* env,
                                 const std::string& directory);

// Before something is made of the files of the database in `directory` that
// takes what does not read for damaged. NotSupported, with both versions and
// the remedy: the latest OPTIONS file is of a newer RocksDB, patch releases
// apart.
rocksdb::Status CheckIsNotNewer(rocksdb::Env* env,
                                const std::string& directory);

// Whether of two OPTIONS files, or their first 4 KiB, the first says that a
// newer RocksDB has written it. Not if either does not say by which it was.
bool IsOfNewerRocksDB(std::string_view options_file,
                      std::string_view than_options_file);

// Before a running replica is copied, of which this is the OPTIONS file, or its
// first 4 KiB. NotSupported, with both versions and the remedy: it is of a
// newer RocksDB, patch releases apart, whose files this one may not read.
rocksdb::Status CheckSourceIsNotNewer(std::string_view options_file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_NEWER_ROCKSDB_H_

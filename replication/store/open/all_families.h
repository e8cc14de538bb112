// Every family of a database that a tool opens.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_ALL_FAMILIES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_ALL_FAMILIES_H_

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

// With the caller's options where given, save for the index, whose options are
// `index_options`. Nothing is compacted by itself: only what is asked for is to
// change. PathNotFound: there is no database; Corruption names the file and the
// remedy.
rocksdb::Status AllFamilies(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& given,
    const rocksdb::ColumnFamilyOptions& index_options,
    std::vector<rocksdb::ColumnFamilyDescriptor>* all);

// NoSpace: there is no room for what RocksDB writes when it opens a database,
// which could end the process.
rocksdb::Status CheckRoomToOpen(const rocksdb::DBOptions& options,
                                const std::string& name);

// Opens a database that is there, with these families; one that is not is not
// made. NoSpace: as above. Corruption names the file and the remedy. The
// handles are destroyed by the caller, before the database.
rocksdb::Status OpenExisting(
    rocksdb::DBOptions options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_ALL_FAMILIES_H_

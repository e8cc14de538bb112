// Lists all column families of a database, and opens the database with them.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_ALL_FAMILIES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_ALL_FAMILIES_H_

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

// Appends a descriptor of each column family of the database `name` to `*all`:
// with the caller's options where `given` has the family, with `index_options`
// for the index, else with defaults. Automatic compactions are off, so that
// only what is asked for changes. Returns PathNotFound if there is no database,
// and Corruption with the file and the remedy.
rocksdb::Status AllFamilies(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& given,
    const rocksdb::ColumnFamilyOptions& index_options,
    std::vector<rocksdb::ColumnFamilyDescriptor>* all);

// Returns NoSpace if there is no room for what RocksDB writes when it opens a
// database. Running out of it could end the process.
rocksdb::Status CheckRoomToOpen(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Opens an existing database with these families, and never makes one. Returns
// NoSpace as CheckRoomToOpen does, and Corruption with the file and the remedy.
// The caller destroys the handles before the database.
rocksdb::Status OpenExisting(
    rocksdb::DBOptions options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_ALL_FAMILIES_H_

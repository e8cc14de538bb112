// A database that nobody has open, for tools that read it.

#ifndef ROCKSYNC_TOOLS_RESTING_DB_H_
#define ROCKSYNC_TOOLS_RESTING_DB_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Opened read-only: nothing in the directory changes. Locked like an open
// database, so that nobody writes to it meanwhile. Comparators and merge
// operators are those of the database's own OPTIONS file, as far as RocksDB
// knows them by name.
class RestingDB {
 public:
  // IOError: it is open somewhere, or is not there.
  static rocksdb::Status Open(const std::string& directory,
                              std::unique_ptr<RestingDB>* db);
  ~RestingDB();

  rocksdb::DB* db() const { return db_.get(); }

  // Of all families, the index included.
  const std::vector<rocksdb::ColumnFamilyHandle*>& handles() const {
    return handles_;
  }

  // The application's families by name; the index is left out.
  const std::map<std::string, rocksdb::ColumnFamilyHandle*>& families() const {
    return families_;
  }

 private:
  RestingDB() = default;
  rocksdb::Status Lock(const std::string& directory);
  rocksdb::Status OpenLocked(const std::string& directory);

  rocksdb::FileLock* lock_ = nullptr;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_RESTING_DB_H_

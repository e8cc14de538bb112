// OpenPlain with a plain pointer, as tests like it.

#ifndef ROCKSYNC_TESTS_SUPPORT_OPEN_PLAIN_H_
#define ROCKSYNC_TESTS_SUPPORT_OPEN_PLAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/db.h"

namespace rocksync {

inline rocksdb::Status OpenPlain(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles, rocksdb::DB** db) {
  std::unique_ptr<rocksdb::DB> opened;
  rocksdb::Status status = OpenPlain(options, name, families, handles, &opened);
  *db = opened.release();
  return status;
}

inline rocksdb::Status OpenPlain(const rocksdb::Options& options,
                                 const std::string& name, rocksdb::DB** db) {
  std::unique_ptr<rocksdb::DB> opened;
  rocksdb::Status status = OpenPlain(options, name, &opened);
  *db = opened.release();
  return status;
}

// The database with all of its column families, the index among them, each with
// default options.
inline rocksdb::Status OpenAllPlain(
    const rocksdb::DBOptions& options, const std::string& name,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  std::vector<std::string> names;
  const rocksdb::Status status =
      rocksdb::DB::ListColumnFamilies(options, name, &names);
  if (!status.ok()) return status;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& family : names) families.push_back({family, {}});
  return OpenPlain(options, name, families, handles, db);
}

// Puts a pair into the default family of a replicated database that is closed,
// as a program that knows nothing of rocksync would.
inline rocksdb::Status PutByPlainProgram(const std::string& name,
                                         const std::string& key,
                                         const std::string& value) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::Status status = OpenAllPlain({}, name, &handles, &db);
  if (!status.ok()) return status;
  status = db->Put({}, key, value);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    const rocksdb::Status destroyed = db->DestroyColumnFamilyHandle(handle);
    if (status.ok()) status = destroyed;
  }
  return status;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_OPEN_PLAIN_H_

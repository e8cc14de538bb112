#include "replication/store/offline/missing_table.h"

#include <algorithm>
#include <memory>

#include "replication/base/rocksdb_version.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/info_log.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

std::string FindMissingTable(
    rocksdb::Env* env, const std::string& directory,
    const std::string& empty_directory, rocksdb::DBOptions options,
    const std::vector<ColumnFamilyDescriptor>& families) {
  options.info_log = std::make_shared<NoLog>();
  options.max_open_files = -1;  // else RocksDB looks at some of them
  // There is no log in this directory: one would be read into memory. RocksDB
  // misses a log that the MANIFEST tracks only after the tables.
  options.wal_dir = empty_directory;
  std::vector<std::string> names;
  std::vector<ColumnFamilyDescriptor> all;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Status status = rocksdb::DB::ListColumnFamilies(options, directory, &names);
  for (const std::string& name : names) {
    const auto known = std::find_if(
        families.begin(), families.end(),
        [&](const ColumnFamilyDescriptor& f) { return f.name == name; });
    if (known != families.end()) all.push_back(*known);
  }
  if (status.ok()) {
    status = OpenPlainForReadOnly(options, directory, all, &handles, &db);
  }
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return MissingTableOf(status, directory);
}

}  // namespace rocksync

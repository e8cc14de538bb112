#include "tools/resting_db.h"

#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;

// Of the options that the database was last opened with only those that say
// what its bytes mean and where they are.
void TakeMeaning(const std::string& directory, rocksdb::DBOptions* options,
                 std::vector<ColumnFamilyDescriptor>* families) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  rocksdb::DBOptions last;
  std::vector<ColumnFamilyDescriptor> last_families;
  if (!rocksdb::LoadLatestOptions(config, directory, &last, &last_families)
           .ok()) {
    return;
  }
  options->wal_dir = last.wal_dir;
  options->db_paths = last.db_paths;
  for (ColumnFamilyDescriptor& family : *families) {
    for (const ColumnFamilyDescriptor& known : last_families) {
      if (known.name != family.name) continue;
      family.options.comparator = known.options.comparator;
      family.options.merge_operator = known.options.merge_operator;
      family.options.cf_paths = known.options.cf_paths;
    }
  }
}

}  // namespace

Status RestingDB::Open(const std::string& directory,
                       std::unique_ptr<RestingDB>* db) {
  db->reset(new RestingDB);
  Status status = (*db)->Lock(directory);
  if (status.ok()) status = (*db)->OpenLocked(directory);
  if (!status.ok()) db->reset();
  return status;
}

Status RestingDB::Lock(const std::string& directory) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  if (!env->FileExists(directory + "/CURRENT").ok()) {
    return Status::IOError(directory, "is not a RocksDB database");
  }
  const std::string name = directory + "/LOCK";
  // A copied database may have none, and need not be writable.
  if (!env->FileExists(name).ok()) return Status::OK();
  const Status status = env->LockFile(name, &lock_);
  if (status.ok()) return status;
  return Status::IOError(
      directory, "is in use, stop its program first: " + status.ToString());
}

Status RestingDB::OpenLocked(const std::string& directory) {
  rocksdb::DBOptions options;
  std::vector<std::string> names;
  Status status = rocksdb::DB::ListColumnFamilies(options, directory, &names);
  if (!status.ok()) return status;
  std::vector<ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.push_back({name, {}});
  TakeMeaning(directory, &options, &families);

  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::OpenForReadOnly(options, directory, families, &handles_,
                                        &opened);
  db_.reset(opened);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    if (handle->GetName() != kIndexFamilyName) {
      families_[handle->GetName()] = handle;
    }
  }
  return status;
}

RestingDB::~RestingDB() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  db_.reset();
  if (lock_ != nullptr) {
    rocksdb::Env::Default()->UnlockFile(lock_).PermitUncheckedError();
  }
}

}  // namespace rocksync

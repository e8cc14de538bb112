#include "tools/offline_db.h"

#include <algorithm>

#include "replication/store/marker.h"
#include "replication/store/own_options.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// The LOGDIR of "DIR=LOGDIR"; null if it is of another directory.
const char* WalDirIn(const std::string& given, const std::string& directory) {
  const std::string start = directory + "=";
  return given.starts_with(start) ? given.c_str() + start.size() : nullptr;
}

Status CheckIsDatabase(const std::string& directory) {
  return rocksdb::Env::Default()->FileExists(directory + "/CURRENT").ok()
             ? Status::OK()
             : Status::IOError(directory, "is not a RocksDB database");
}

}  // namespace

Status CheckWalDirs(const std::vector<std::string>& wal_dirs,
                    const std::vector<std::string>& directories) {
  for (const std::string& given : wal_dirs) {
    const bool of_one = std::any_of(
        directories.begin(), directories.end(),
        [&](const std::string& d) { return WalDirIn(given, d) != nullptr; });
    if (!of_one) {
      return Status::InvalidArgument(
          "--wal-dir " + given,
          "write DIR=LOGDIR, DIR as it is given to the command");
    }
  }
  return Status::OK();
}

std::string WalDirOf(const std::vector<std::string>& wal_dirs,
                     const std::string& directory) {
  for (const std::string& given : wal_dirs) {
    if (const char* found = WalDirIn(given, directory)) return found;
  }
  return "";
}

Status CheckHasIndex(const std::string& directory) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  Status status = CheckIsDatabase(directory);
  std::vector<std::string> names;
  if (status.ok()) {
    status = rocksdb::DB::ListColumnFamilies({}, directory, &names);
  }
  Marker marker;
  if (!status.ok() ||
      std::find(names.begin(), names.end(), kIndexFamilyName) != names.end() ||
      !ReadMarker(env, directory, &marker).IsNotFound()) {
    return status;
  }
  return Status::NotFound("rocksync: " + directory + " has no index",
                          "it is a plain database already");
}

Status OfflineDB::Open(const std::string& directory,
                       const std::vector<std::string>& wal_dirs,
                       std::unique_ptr<OfflineDB>* db) {
  db->reset(new OfflineDB);
  Status status = (*db)->Lock(directory);
  if (status.ok()) {
    status = (*db)->OpenLocked(directory, WalDirOf(wal_dirs, directory));
  }
  if (!status.ok()) db->reset();
  return status;
}

Status OfflineDB::Lock(const std::string& directory) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  Status status = CheckIsDatabase(directory);
  if (!status.ok()) return status;
  const std::string name = directory + "/LOCK";
  // A copied database may have none, and need not be writable.
  if (!env->FileExists(name).ok()) return Status::OK();
  status = env->LockFile(name, &lock_);
  if (status.ok()) return status;
  return Status::IOError(
      directory, "is in use, stop its program first: " + status.ToString());
}

Status OfflineDB::OpenLocked(const std::string& directory,
                             const std::string& wal_dir) {
  OwnOptions own;
  Status status =
      LoadOwnOptions(rocksdb::Env::Default(), directory, wal_dir, &own);
  if (!status.ok()) return status;
  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::OpenForReadOnly(own.db, directory, own.families,
                                        &handles_, &opened);
  db_.reset(opened);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    if (handle->GetName() != kIndexFamilyName) {
      families_[handle->GetName()] = handle;
    }
  }
  return status;
}

OfflineDB::~OfflineDB() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  db_.reset();
  if (lock_ != nullptr) {
    rocksdb::Env::Default()->UnlockFile(lock_).PermitUncheckedError();
  }
}

}  // namespace rocksync

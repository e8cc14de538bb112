#include "tools/offline_db.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "replication/base/directories.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/directory/directory_switch.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/marker.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksync/replicated_db.h"
#include "tools/stand_ins.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// The LOGDIR of "DIR=LOGDIR"; null if it is of another directory.
const char* WalDirIn(const std::string& given, const std::string& directory) {
  const std::string start = directory + "=";
  return given.starts_with(start) ? given.c_str() + start.size() : nullptr;
}

Status NoDatabase(const std::string& directory) {
  return Status::IOError(directory,
                         "is not a RocksDB database; give the directory of an "
                         "offline database");
}

Status CheckIsDatabase(const std::string& directory) {
  Status status = CheckMayReadFiles(directory);
  if (status.ok()) {
    status = CheckNoSwitchIsLeft(rocksdb::Env::Default(), directory);
  }
  if (!status.ok()) return status;
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored)) {
    return Status::IOError(
        directory, "is not there; give the directory of an offline database");
  }
  std::string manifest;
  if (!CurrentManifest(rocksdb::Env::Default(), directory, &manifest).ok()) {
    const Status lost = CheckNothingIsThere(rocksdb::Env::Default(), directory);
    return lost.ok() ? NoDatabase(directory) : lost;
  }
  return CheckNoUnfinishedClone(rocksdb::Env::Default(), directory);
}

}  // namespace

Status CheckSomethingIsLeft(const std::string& directory) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  return env->FileExists(directory).ok() &&
                 env->FileExists(directory + "/CURRENT").IsNotFound() &&
                 CheckNothingIsThere(env, directory).ok()
             ? NoDatabase(directory)
             : Status::OK();
}

Status CheckWalDirs(const std::vector<std::string>& wal_dirs,
                    const std::vector<std::string>& directories) {
  for (const std::string& given : wal_dirs) {
    const bool of_one = std::any_of(
        directories.begin(), directories.end(),
        [&](const std::string& d) { return WalDirIn(given, d) != nullptr; });
    if (!of_one) {
      std::string remedy;
      for (const std::string& directory : directories) {
        remedy += (remedy.empty() ? "write --wal-dir " : " or --wal-dir ") +
                  directory + "=LOGDIR";
      }
      return Status::InvalidArgument(
          "--wal-dir " + given + " names no directory of this command", remedy);
    }
    if (given.back() == '=') {
      return Status::InvalidArgument(
          "--wal-dir " + given + ": the name of the log's directory is empty",
          "write --wal-dir " + given + "LOGDIR");
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

Status CheckTwoDirectories(const std::string& left, const std::string& right) {
  std::error_code ignored;
  return std::filesystem::equivalent(left, right, ignored)
             ? Status::InvalidArgument(left + " and " + right,
                                       "both arguments are one directory")
             : Status::OK();
}

Status CheckHasIndex(const std::string& directory, const char* if_plain) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  Status status = CheckIsDatabase(directory);
  std::vector<std::string> names;
  if (status.ok()) {
    status = NameDamagedFile(
        rocksdb::DB::ListColumnFamilies({}, directory, &names), env, directory);
  }
  Marker marker;
  if (!status.ok() ||
      std::find(names.begin(), names.end(), kIndexFamilyName) != names.end() ||
      !ReadMarker(env, directory, &marker).IsNotFound()) {
    return status;
  }
  return Status::NotFound("rocksync: " + directory + " has no index", if_plain);
}

Status OfflineDB::Open(const std::string& directory,
                       const std::vector<std::string>& wal_dirs,
                       std::unique_ptr<OfflineDB>* db, DamagedLog damaged_log) {
  return LockAndOpen(directory, db, [&](OfflineDB* locked) {
    return locked->OpenLocked(directory, WalDirOf(wal_dirs, directory),
                              damaged_log);
  });
}

Status OfflineDB::OpenIndex(const std::string& directory,
                            const std::vector<std::string>& wal_dirs,
                            std::unique_ptr<OfflineDB>* db) {
  return LockAndOpen(directory, db, [&](OfflineDB* locked) {
    return locked->OpenIndexLocked(directory, WalDirOf(wal_dirs, directory));
  });
}

Status OfflineDB::LockAndOpen(
    const std::string& directory, std::unique_ptr<OfflineDB>* db,
    absl::FunctionRef<Status(OfflineDB* locked)> open) {
  db->reset(new OfflineDB);
  Status status = (*db)->Lock(directory);
  if (status.ok()) status = open(db->get());
  if (!status.ok()) db->reset();
  return status;
}

Status OfflineDB::Lock(const std::string& directory) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const Status status = CheckIsDatabase(directory);
  // A copied database may have none, and need not be writable.
  if (!status.ok() || !env->FileExists(directory + "/LOCK").ok()) return status;
  if (OnReadOnlyFileSystem(directory)) return CheckFreeToRead(directory);
  return LockDirectory(env, directory, &lock_);
}

Status OfflineDB::OpenLocked(const std::string& directory,
                             const std::string& wal_dir,
                             DamagedLog damaged_log) {
  OwnOptions own;
  Status status = LoadOwnOptions(rocksdb::Env::Default(), directory, wal_dir,
                                 &own, damaged_log);
  if (!status.ok()) return status;
  UnreplayableRecords unreplayable(own.families,
                                   UnreplayableRecords::Prepared::kReplayed);
  own.db.wal_filter = &unreplayable;
  own.db.allow_2pc = true;
  status = OpenFamilies(own, directory);
  // It is a log cut short that RocksDB then finds fault with, if anything.
  const Status merges = unreplayable.Check(rocksdb::Env::Default(), directory);
  return merges.ok() ? ExplainMissingComparator(status, directory) : merges;
}

Status OfflineDB::OpenIndexLocked(const std::string& directory,
                                  const std::string& wal_dir) {
  OwnOptions own;
  Status status =
      LoadOwnOptions(rocksdb::Env::Default(), directory, wal_dir, &own);
  if (!status.ok()) return status;
  // RocksDB opens none without "default".
  std::erase_if(own.families,
                [](const rocksdb::ColumnFamilyDescriptor& family) {
                  return family.name != rocksdb::kDefaultColumnFamilyName &&
                         family.name != kIndexFamilyName;
                });
  rocksdb::ColumnFamilyOptions* unread = nullptr;
  for (rocksdb::ColumnFamilyDescriptor& family : own.families) {
    if (family.name != kIndexFamilyName) unread = &family.options;
  }
  if (unread != nullptr && unread->merge_operator == nullptr) {
    AddStandInMergeOperator(unread);
  }
  // A transaction may be of what is not read here.
  UnreplayableRecords passed_over(own.families);
  own.db.wal_filter = &passed_over;
  own.db.allow_2pc = true;
  status = OpenFamilies(own, directory);
  const std::string lacking = MissingComparator(status);
  if (unread == nullptr || lacking.empty()) return status;
  stand_in_ = StandInComparator(lacking);
  unread->comparator = stand_in_.get();
  return OpenFamilies(own, directory);
}

Status OfflineDB::OpenFamilies(const OwnOptions& own,
                               const std::string& directory) {
  const Status status = NameDamagedFile(
      OpenPlainForReadOnly(own.db, directory, own.families, &handles_, &db_),
      rocksdb::Env::Default(), directory);
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
}

}  // namespace rocksync

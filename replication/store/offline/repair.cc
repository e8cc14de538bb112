#include "replication/store/offline/repair.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>

#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/make_directory.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/offline/directory_access.h"
#include "replication/store/offline/own_options.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/log_files.h"
#include "rocksdb/db.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table_properties.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Env;
using rocksdb::Status;

constexpr char kLostFolder[] = "/lost";  // RepairDB's

constexpr char kByTheProgram[] =
    "call RocksDB's RepairDB from the program that uses the database, with its "
    "own options, on a copy of the directory";

Status CopyFile(Env* env, const std::string& from, const std::string& to) {
  std::string bytes;
  Status status = rocksdb::ReadFileToString(env, from, &bytes);
  if (!status.ok()) return status;
  return rocksdb::WriteStringToFile(env, bytes, to, /*should_sync=*/true);
}

Status Look(rocksdb::DB* db, ColumnFamilyHandle* family, Repaired* repaired) {
  if (family->GetName() == kIndexFamilyName) {
    std::string bytes;
    repaired->has_index =
        db->Get({}, family, MetaKey(kFormatRecord), &bytes).ok();
    return Status::OK();
  }
  uint64_t keys = 0;
  db->GetIntProperty(family, rocksdb::DB::Properties::kEstimateNumKeys, &keys);
  repaired->pairs += keys;
  return Status::OK();
}

// One repair. Removes what it made unless all of it succeeds.
class Repairing {
 public:
  Repairing(Env* env, const std::string& directory, const std::string& copy,
            const std::function<void(const std::string&)>& progress)
      : env_(env), directory_(directory), copy_(copy), progress_(progress) {}
  ~Repairing() {
    if (!made_ || done_) return;
    std::error_code error;
    std::filesystem::remove_all(copy_, error);
  }
  Repairing(const Repairing&) = delete;
  Repairing& operator=(const Repairing&) = delete;

  Status Run(const std::string& wal_dir, Repaired* repaired);

 private:
  Status LoadOptions();
  Status CheckTables() const;
  Status Make();
  Status LinkTables();
  Status WriteRest();
  Status MakeList(Repaired* repaired);
  Status CopyLogs(const std::string& wal_dir);
  using Visit = std::function<Status(rocksdb::DB*, ColumnFamilyHandle*)>;
  Status WithEachFamily(const Visit& visit);

  Env* const env_;
  const std::string directory_;
  const std::string copy_;
  const std::function<void(const std::string&)>& progress_;

  std::vector<std::string> names_;  // of the files of `directory_`
  rocksdb::DBOptions options_;
  std::vector<ColumnFamilyDescriptor> families_;
  bool made_ = false;
  bool done_ = false;
};

Status Repairing::Run(const std::string& wal_dir, Repaired* repaired) {
  std::unique_ptr<DirectoryLock> lock;
  Status status = CheckMayRead(directory_ + "/");
  if (status.ok()) status = env_->GetChildren(directory_, &names_);
  if (status.ok()) {
    status = OnReadOnlyFileSystem(directory_)
                 ? CheckFreeToRead(directory_)
                 : LockDirectory(env_, directory_, &lock);
  }
  if (status.ok()) status = LoadOptions();
  if (status.ok()) status = CheckTables();
  if (status.ok()) status = Make();
  if (status.ok()) status = LinkTables();
  if (status.ok()) status = WriteRest();
  if (status.ok()) status = MakeList(repaired);
  if (status.ok()) {
    progress_("merges the tables");
    status = WithEachFamily([](rocksdb::DB* db, ColumnFamilyHandle* family) {
      return db->CompactRange({}, family, nullptr, nullptr);
    });
  }
  if (status.ok()) status = CopyLogs(wal_dir);
  if (status.ok()) {
    progress_("replays the log");
    status = WithEachFamily([&](rocksdb::DB* db, ColumnFamilyHandle* family) {
      return Look(db, family, repaired);
    });
  }
  done_ = status.ok();
  return status;
}

Status Repairing::LoadOptions() {
  Status status = LoadOptionsFile(env_, directory_, &options_, &families_);
  if (!status.ok()) return status;
  const bool was_replica =
      std::find(names_.begin(), names_.end(), kMarkerFileName) !=
          names_.end() ||
      std::any_of(families_.begin(), families_.end(),
                  [](const ColumnFamilyDescriptor& family) {
                    return family.name == kIndexFamilyName;
                  });
  if (!was_replica) {
    return Status::NotFound("rocksync: " + directory_ + " is no replica",
                            "use RocksDB's RepairDB (`ldb repair`)");
  }
  options_.env = env_;
  options_.create_if_missing = false;
  options_.create_missing_column_families = false;
  options_.error_if_exists = false;
  options_.avoid_flush_during_recovery = false;
  options_.wal_dir.clear();
  // As much of the log as reads.
  options_.wal_recovery_mode =
      rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  bool elsewhere = std::any_of(
      options_.db_paths.begin(), options_.db_paths.end(),
      [&](const rocksdb::DbPath& path) {
        return AbsolutePath(env_, path.path) != AbsolutePath(env_, directory_);
      });
  options_.db_paths.clear();
  for (ColumnFamilyDescriptor& family : families_) {
    elsewhere = elsewhere || !family.options.cf_paths.empty();
    family.options.force_consistency_checks = false;
    family.options.disable_auto_compactions = true;
  }
  return elsewhere ? Status::NotSupported(
                         "rocksync: tables of " + directory_ +
                             " are in other directories (db_paths, cf_paths)",
                         kByTheProgram)
                   : status;
}

// RepairDB takes tables as they are: with the wrong order of keys it would
// succeed.
Status Repairing::CheckTables() const {
  rocksdb::Options options;
  options.env = env_;
  for (const std::string& name : names_) {
    if (name.ends_with(".blob")) {
      return Status::NotSupported(
          "rocksync: " + directory_ +
              " has blob files, which RocksDB's RepairDB leaves out",
          "replace the replica by a new, empty one that peers fill");
    }
    if (!name.ends_with(".sst")) continue;
    rocksdb::SstFileReader reader(options);
    if (!reader.Open(directory_ + "/" + name).ok()) continue;
    const auto properties = reader.GetTableProperties();
    const auto family =
        std::find_if(families_.begin(), families_.end(),
                     [&](const ColumnFamilyDescriptor& known) {
                       return properties != nullptr &&
                              known.name == properties->column_family_name;
                     });
    if (family == families_.end() ||
        properties->comparator_name == family->options.comparator->Name()) {
      continue;
    }
    return Status::NotSupported(
        "rocksync: the column family '" + family->name + "' of " + directory_ +
            " is ordered by the comparator " + properties->comparator_name +
            ", which RocksDB cannot make by its name",
        kByTheProgram);
  }
  return Status::OK();
}

Status Repairing::Make() {
  if (!env_->FileExists(copy_).IsNotFound()) {
    return Status::InvalidArgument("rocksync: " + copy_ + " is there already",
                                   "name a directory that is not there");
  }
  const Status status = NameMissingParent(env_->CreateDir(copy_), copy_);
  made_ = status.ok();
  return status;
}

Status Repairing::LinkTables() {
  progress_("links the tables");
  Status status;
  for (const std::string& name : names_) {
    if (!status.ok()) return status;
    const std::string from = directory_ + "/" + name;
    const std::string to = copy_ + "/" + name;
    if (name.ends_with(".sst")) {
      status = env_->LinkFile(from, to);
      if (!status.ok()) status = CopyFile(env_, from, to);
    } else if (name.starts_with("OPTIONS-")) {
      status = CopyFile(env_, from, to);
    }
  }
  return status;
}

// Before RepairDB: whatever becomes of it, the directory is never taken for the
// replica as it was.
Status Repairing::WriteRest() {
  Marker marker;
  if (!ReadMarker(env_, directory_, &marker).ok()) {
    marker.directory = AbsolutePath(env_, directory_);
    marker.marks = {NewMark()};
  }
  marker.files.clear();
  marker.index_in_tables = false;
  marker.rest = true;
  return WriteMarker(env_, copy_, marker);
}

Status Repairing::MakeList(Repaired* repaired) {
  progress_("lets RocksDB's RepairDB read the tables");
  rocksdb::ColumnFamilyOptions unknown;
  unknown.force_consistency_checks = false;
  const Status status = rocksdb::RepairDB(copy_, options_, families_, unknown);
  std::vector<std::string> lost;
  env_->GetChildren(copy_ + kLostFolder, &lost)
      .PermitUncheckedError();  // nothing was
  for (const std::string& name : lost) {
    if (name.ends_with(".sst")) repaired->left_out.push_back(name);
  }
  std::sort(repaired->left_out.begin(), repaired->left_out.end());
  return status;
}

// In place of the log of the openings here, in which there is nothing. Under
// larger numbers than any that are in use: RocksDB passes over those that it
// takes to be in tables.
Status Repairing::CopyLogs(const std::string& wal_dir) {
  const std::string place = wal_dir.empty() ? directory_ : wal_dir;
  std::set<std::string> logs;
  std::set<std::string> ours;
  Status status = ListLogFiles(env_, place, &logs);
  if (status.ok()) status = ListLogFiles(env_, copy_, &ours);
  for (const std::string& log : ours) {
    if (status.ok()) status = env_->DeleteFile(copy_ + "/" + log);
  }
  std::vector<std::string> used;
  if (status.ok()) status = env_->GetChildren(copy_, &used);
  uint64_t number = NewestManifest(env_, copy_);
  for (const std::string& name : used) {
    number =
        std::max<uint64_t>(number, std::strtoull(name.c_str(), nullptr, 10));
  }
  // By number; names have leading zeros up to some number of digits.
  std::map<uint64_t, std::string> in_order;
  for (const std::string& log : logs) {
    in_order[std::strtoull(log.c_str(), nullptr, 10)] = log;
  }
  for (const auto& [old_number, log] : in_order) {
    if (!status.ok()) return status;
    std::string fresh = std::to_string(++number);
    fresh.insert(0, fresh.size() < 6 ? 6 - fresh.size() : 0, '0');
    status = CopyFile(env_, place + "/" + log, copy_ + "/" + fresh + ".log");
  }
  return status;
}

// Opens the database, which replays its log.
Status Repairing::WithEachFamily(const Visit& visit) {
  std::vector<ColumnFamilyDescriptor> all;
  rocksdb::ColumnFamilyOptions index;
  for (const ColumnFamilyDescriptor& family : families_) {
    if (family.name == kIndexFamilyName) index = family.options;
  }
  Status status = AllFamilies(options_, copy_, families_, index, &all);
  for (ColumnFamilyDescriptor& family : all) {
    family.options.force_consistency_checks = false;
  }
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  if (status.ok()) status = OpenExisting(options_, copy_, all, &handles, &db);
  if (!status.ok()) return status;
  for (ColumnFamilyHandle* handle : handles) {
    if (status.ok()) status = visit(db.get(), handle);
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  const Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace

Status Repair(Env* env, const std::string& directory,
              const std::string& wal_dir, const std::string& copy,
              const std::function<void(const std::string&)>& progress,
              Repaired* repaired) {
  *repaired = {};
  Repairing repairing(env, directory, copy, progress);
  return repairing.Run(wal_dir, repaired);
}

}  // namespace rocksync

#include "replication/store/offline/repair.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "replication/base/directories.h"
#include "replication/base/rocksdb_errors.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/directory/make_directory.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/offline/bounded_options.h"
#include "replication/store/offline/directory_access.h"
#include "replication/store/offline/file_copies.h"
#include "replication/store/offline/missing_table.h"
#include "replication/store/offline/needed_log.h"
#include "replication/store/offline/own_options.h"
#include "replication/store/offline/table_files.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/kept_options_file.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/newer_rocksdb.h"
#include "replication/store/open/options_file.h"
#include "replication/store/open/path_ownership.h"
#include "replication/store/open/unreplayable_records.h"
#include "replication/store/write/free_space.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Env;
using rocksdb::Status;

constexpr char kLostFolder[] = "/lost";  // RepairDB's

// Sets `*families` to those that the index knows by name alone.
Status FamiliesWithoutEntries(rocksdb::DB* db, ColumnFamilyHandle* index,
                              std::vector<FamilyRecord>* families) {
  std::string bytes;
  const Status status = db->Get({}, index, MetaKey(kFamiliesRecord), &bytes);
  if (!status.ok() || !Decode(bytes, families)) return Status::OK();
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> entries(
      db->NewIterator(options, index));
  for (entries->SeekToFirst(); entries->Valid() && !families->empty();
       entries->Next()) {
    IndexKey key;
    if (!ParseIndexKey(entries->key().ToStringView(), &key)) continue;
    families->erase(std::remove_if(families->begin(), families->end(),
                                   [&](const FamilyRecord& family) {
                                     return family.id == key.family_id;
                                   }),
                    families->end());
  }
  return entries->status();
}

Status CountPairs(rocksdb::DB* db, ColumnFamilyHandle* family,
                  uint64_t* pairs) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db->NewIterator(options, family));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++*pairs;
  return iterator->status();
}

// Explains the failure of a RocksDB with assertions. RepairDB makes one level
// of all tables, which a RocksDB without assertions takes, as it is told not to
// check the order (MergeTables makes it right). Up to 7.9 one with assertions
// checks all the same.
Status NameAssertions(const Status& status, const std::string& directory) {
  if (!IsOfTableOrder(status)) return status;
  return Status::NotSupported(
      "rocksync: this RocksDB is compiled with assertions, and then its "
      "RepairDB does not take tables of several levels, as " +
          directory + " has them",
      "use a `rocksync` that was built with a RocksDB without assertions "
      "(cmake "
      "-DCMAKE_PREFIX_PATH=..., see README): " +
          status.ToString());
}

// Does one repair. Makes everything beside `copy`, which gets its name last,
// and removes what it made unless all of it succeeds.
class Repairing {
 public:
  Repairing(Env* env, const std::string& directory, const std::string& copy,
            const std::function<void(const std::string&)>& progress)
      : env_(env),
        directory_(directory),
        copy_(copy),
        unfinished_(copy + ".unfinished"),
        progress_(progress) {}
  ~Repairing() {
    if (!made_ || done_) return;
    std::error_code error;
    std::filesystem::remove_all(unfinished_, error);
  }
  Repairing(const Repairing&) = delete;
  Repairing& operator=(const Repairing&) = delete;

  Status Run(const std::string& wal_dir, Repaired* repaired);

 private:
  using Visit = std::function<Status(rocksdb::DB*, ColumnFamilyHandle*)>;

  Status LoadOptions(const std::string& wal_dir);
  Status CheckPlace() const;
  Status Make();
  Status CheckRoomForAll() const;
  Status LinkTables();
  Status WriteRest();
  Status MakeList(Repaired* repaired);
  Status MergeTables();
  Status ReplayLogs(uint64_t* batches);
  Status Look(Repaired* repaired);
  Status PutOptionsBack(const Repaired& repaired) const;
  Status Finish();
  Status WithEachFamily(const rocksdb::DBOptions& options, bool as_they_are,
                        const Visit& visit);

  Env* const env_;
  const std::string directory_;
  const std::string copy_;
  const std::string unfinished_;
  const std::function<void(const std::string&)>& progress_;

  std::vector<std::string> names_;  // of the files of `directory_`
  std::string wal_dir_;
  rocksdb::DBOptions options_;
  std::vector<ColumnFamilyDescriptor> families_;
  SequencesInTables in_tables_;
  bool made_ = false;
  bool done_ = false;
};

Status Repairing::Run(const std::string& wal_dir, Repaired* repaired) {
  std::unique_ptr<DirectoryLock> lock;
  Status status = CheckMayReadFiles(directory_);
  if (!status.ok()) return status;
  status = env_->FileExists(directory_);
  if (status.IsNotFound()) {
    return Status::PathNotFound("rocksync: " + directory_ + " is not there",
                                "give the directory of an offline database");
  }
  if (status.ok()) status = env_->GetChildren(directory_, &names_);
  if (status.ok()) {
    status = OnReadOnlyFileSystem(directory_)
                 ? CheckFreeToRead(directory_)
                 : LockDirectory(env_, directory_, &lock);
  }
  // An older RocksDB would take a newer one's tables for damaged.
  if (status.ok()) status = CheckIsNotNewer(env_, directory_);
  if (status.ok()) status = LoadOptions(wal_dir);
  if (status.ok()) status = CheckPlace();
  if (status.ok()) {
    status = FindLostLog(env_, directory_, wal_dir_, &repaired->lost_log);
  }
  if (status.ok()) status = Make();
  if (status.ok()) status = CheckRoomForAll();
  if (status.ok()) {
    repaired->missing_table =
        FindMissingTable(env_, directory_, unfinished_, options_, families_);
  }
  if (status.ok()) status = LinkTables();
  if (status.ok()) status = WriteRest();
  if (status.ok()) status = MakeList(repaired);
  if (status.ok()) status = MergeTables();
  CopiedLogs logs;
  if (status.ok()) status = CopyLogs(env_, wal_dir_, unfinished_, &logs);
  if (repaired->lost_log.empty()) repaired->lost_log = logs.unreadable;
  repaired->damaged_log = logs.damaged;
  uint64_t read = 0;
  if (status.ok()) status = ReplayLogs(&read);
  repaired->log_batches_dropped =
      logs.sound_batches - std::min(logs.sound_batches, read);
  if (status.ok()) status = Look(repaired);
  if (status.ok()) status = PutOptionsBack(*repaired);
  return status.ok() ? Finish() : status;
}

Status Repairing::LoadOptions(const std::string& wal_dir) {
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
  status = ChooseLogDirectory(env_, directory_, options_.wal_dir, wal_dir,
                              &wal_dir_);
  options_ = BoundedOptions(options_);
  for (ColumnFamilyDescriptor& family : families_) {
    family.options = BoundedFamilyOptions(family.options);
  }
  options_.env = env_;
  // What is prepared is passed over, and must not keep the log.
  options_.allow_2pc = false;
  options_.wal_dir.clear();
  OpenWithoutLogs(&options_);
  bool elsewhere = std::any_of(
      options_.db_paths.begin(), options_.db_paths.end(),
      [&](const rocksdb::DbPath& path) {
        return AbsolutePath(env_, path.path) != AbsolutePath(env_, directory_);
      });
  options_.db_paths.clear();
  for (const ColumnFamilyDescriptor& family : families_) {
    elsewhere = elsewhere || !family.options.cf_paths.empty();
  }
  if (!status.ok() || !elsewhere) return status;
  return Status::NotSupported("rocksync: tables of " + directory_ +
                                  " are in other directories (db_paths, "
                                  "cf_paths)",
                              kRepairByItsProgram);
}

Status Repairing::CheckPlace() const {
  for (const std::string& name : names_) {
    if (!name.ends_with(".blob")) continue;
    return Status::NotSupported(
        "rocksync: " + directory_ +
            " has blob files, which RocksDB's RepairDB leaves out",
        "replace the replica by a new, empty one that peers fill");
  }
  const std::string within = AbsolutePath(env_, directory_) + "/";
  if (AbsolutePath(env_, copy_).starts_with(within)) {
    return Status::InvalidArgument(
        "rocksync: " + copy_ + " is in " + directory_,
        "name a directory outside of it");
  }
  const Status lies = CheckLiesInNoDatabase(env_, copy_);
  if (!lies.ok()) return lies;
  // A link to nothing is in the way of the last step, too.
  std::error_code unknown;
  if (!env_->FileExists(copy_).IsNotFound() ||
      std::filesystem::is_symlink(copy_, unknown)) {
    return Status::InvalidArgument("rocksync: " + copy_ + " is there already",
                                   "name a directory that is not there");
  }
  if (!env_->FileExists(unfinished_).IsNotFound()) {
    return Status::InvalidArgument(
        "rocksync: " + unfinished_ +
            " is there: an earlier repair was interrupted, or is going on",
        "if none is, remove it");
  }
  return Status::OK();
}

Status Repairing::Make() {
  const Status status =
      NameCannotBeMade(env_->CreateDir(unfinished_), unfinished_);
  made_ = status.ok();
  return status;
}

// Checks beforehand that there is room, as RepairDB may end the process where a
// disk is full. Tables may be linked, but what is in them is written anew, and
// so are the logs.
Status Repairing::CheckRoomForAll() const {
  uint64_t needed = 0;
  std::vector<std::string> files;
  for (const std::string& name : names_) {
    files.push_back(directory_ + "/" + name);
  }
  std::set<std::string> logs;
  Status status;
  if (AbsolutePath(env_, wal_dir_) != AbsolutePath(env_, directory_)) {
    status = ListLogFiles(env_, wal_dir_, &logs);
  }
  if (!status.ok()) return status;
  for (const std::string& name : logs) files.push_back(wal_dir_ + "/" + name);
  for (const std::string& file : files) {
    uint64_t bytes = 0;
    if (env_->GetFileSize(file, &bytes).ok()) needed += bytes;
  }
  return CheckRoom(env_, {unfinished_}, needed,
                   "name a directory on a disk with as much room as " +
                       directory_ + " takes");
}

// Links the tables, which are never written to again; other files may be.
Status Repairing::LinkTables() {
  progress_("links the tables");
  std::vector<std::string> tables;
  Status status = TablesToKeep(env_, directory_, names_, families_, &tables);
  for (const std::string& name : tables) {
    if (!status.ok()) return status;
    const std::string from = directory_ + "/" + name;
    const std::string to = unfinished_ + "/" + name;
    status = env_->LinkFile(from, to);
    if (!status.ok()) status = CopyFile(env_, from, to);
  }
  return status;
}

// Writes a marker of a rest before RepairDB runs: whatever becomes of that, the
// directory is never taken for the replica as it was.
Status Repairing::WriteRest() {
  Marker marker;
  if (!ReadMarker(env_, directory_, &marker).ok()) {
    marker.directory = AbsolutePath(env_, directory_);
    marker.marks = {NewMark()};
  }
  marker.files.clear();
  marker.index_in_tables = false;
  marker.rest = true;
  return WriteMarker(env_, unfinished_, marker);
}

Status Repairing::MakeList(Repaired* repaired) {
  progress_("lets RocksDB's RepairDB read the tables");
  std::vector<ColumnFamilyDescriptor> known = families_;
  for (ColumnFamilyDescriptor& family : known) {
    family.options.force_consistency_checks = false;
  }
  rocksdb::ColumnFamilyOptions unknown;
  unknown.force_consistency_checks = false;
  // RepairDB gets no options of the database: with a small
  // max_manifest_file_size, say, it would begin a second MANIFEST before it
  // knows all families.
  rocksdb::DBOptions plain;
  plain.env = env_;
  Status status = NameAssertions(
      rocksdb::RepairDB(unfinished_, plain, known, unknown), directory_);
  if (!status.ok()) return status;
  std::vector<std::string> lost;
  env_->GetChildren(unfinished_ + kLostFolder, &lost)
      .PermitUncheckedError();  // nothing was lost
  for (const std::string& name : lost) {
    if (!name.ends_with(".sst")) continue;
    repaired->left_out[name] =
        DescribeTable(env_, unfinished_ + kLostFolder + "/" + name);
  }
  // RepairDB knows families by their tables.
  std::vector<std::string> there;
  status = rocksdb::DB::ListColumnFamilies(options_, unfinished_, &there);
  for (const ColumnFamilyDescriptor& family : families_) {
    if (std::find(there.begin(), there.end(), family.name) == there.end()) {
      repaired->without_table.push_back(family.name);
    }
  }
  return status;
}

Status Repairing::MergeTables() {
  progress_("merges the tables");
  rocksdb::DBOptions options = options_;
  options.recycle_log_file_num = 0;
  return WithEachFamily(options, /*as_they_are=*/false,
                        [&](rocksdb::DB* db, ColumnFamilyHandle* family) {
                          // The merge may take the numbers away, so they are
                          // read before.
                          rocksdb::ColumnFamilyMetaData tables;
                          db->GetColumnFamilyMetaData(family, &tables);
                          uint64_t* const largest =
                              &in_tables_[family->GetID()];
                          for (const auto& level : tables.levels) {
                            for (const auto& file : level.files) {
                              *largest = std::max(*largest, file.largest_seqno);
                            }
                          }
                          return db->CompactRange({}, family, nullptr, nullptr);
                        });
}

Status Repairing::ReplayLogs(uint64_t* batches) {
  progress_("replays the log");
  NeededLog needed(in_tables_, families_);
  rocksdb::DBOptions options = options_;
  // As much of the log is replayed as reads.
  options.wal_recovery_mode = kSalvageRecovery;
  options.recycle_log_file_num = 0;
  options.avoid_flush_during_recovery = false;
  options.wal_filter = &needed;
  const Status status = WithEachFamily(
      options, /*as_they_are=*/false,
      [](rocksdb::DB*, ColumnFamilyHandle*) { return Status::OK(); });
  *batches = needed.batches();
  const Status merges = needed.Check(env_, directory_);
  return merges.ok() ? status : merges;
}

// Counts what is there, with the options of the OPTIONS file.
Status Repairing::Look(Repaired* repaired) {
  progress_("counts what is there");
  std::vector<FamilyRecord> unindexed;
  std::set<uint32_t> filled;
  const Status status = WithEachFamily(
      options_, /*as_they_are=*/true,
      [&](rocksdb::DB* db, ColumnFamilyHandle* family) {
        if (family->GetName() == kIndexFamilyName) {
          std::string bytes;
          repaired->has_index =
              db->Get({}, family, MetaKey(kFormatRecord), &bytes).ok();
          return FamiliesWithoutEntries(db, family, &unindexed);
        }
        const uint64_t before = repaired->pairs;
        const Status counted = CountPairs(db, family, &repaired->pairs);
        if (repaired->pairs > before) filled.insert(family->GetID());
        return counted;
      });
  for (const FamilyRecord& family : unindexed) {
    if (filled.contains(family.id)) {
      repaired->without_entries.push_back(family.name);
    }
  }
  return status;
}

// Puts back the OPTIONS file: RocksDB's new one lacks what it cannot make.
Status Repairing::PutOptionsBack(const Repaired& repaired) const {
  KeptOptionsFile options_file(env_, unfinished_);
  const Status status = options_file.ReadFrom(directory_);
  for (const std::string& family : repaired.without_table) {
    options_file.LeaveOut(family);
  }
  return status.ok() ? options_file.PutBack() : status;
}

Status Repairing::Finish() {
  // The folder stays if anything is in it.
  env_->DeleteDir(unfinished_ + kLostFolder).PermitUncheckedError();
  Status status = SyncDirectory(env_, unfinished_);
  if (status.ok()) status = env_->RenameFile(unfinished_, copy_);
  done_ = status.ok();
  const std::string parent =
      std::filesystem::path(AbsolutePath(env_, copy_)).parent_path();
  return status.ok() ? SyncDirectory(env_, parent) : status;
}

// Opens the database, which replays its log, and visits each family.
Status Repairing::WithEachFamily(const rocksdb::DBOptions& options,
                                 bool as_they_are, const Visit& visit) {
  std::vector<ColumnFamilyDescriptor> all;
  rocksdb::ColumnFamilyOptions index;
  for (const ColumnFamilyDescriptor& family : families_) {
    if (family.name == kIndexFamilyName) index = family.options;
  }
  Status status = AllFamilies(options, unfinished_, families_, index, &all);
  for (ColumnFamilyDescriptor& family : all) {
    const auto known = std::find_if(
        families_.begin(), families_.end(),
        [&](const ColumnFamilyDescriptor& f) { return f.name == family.name; });
    if (!as_they_are) {
      family.options.force_consistency_checks = false;
    } else if (known != families_.end()) {
      family.options = known->options;
    }
  }
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  if (status.ok()) {
    status = OpenExisting(options, unfinished_, all, &handles, &db);
  }
  if (!status.ok()) return status;
  for (ColumnFamilyHandle* handle : handles) {
    if (status.ok()) {
      status = NameMergeOperator(visit(db.get(), handle), env_, directory_,
                                 handle->GetName());
    }
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
  return NameNewerRocksDB(repairing.Run(wal_dir, repaired), env, directory);
}

}  // namespace rocksync

#include "replication/store/open/shared_paths.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/random_bits.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/directory/make_directory.h"
#include "replication/store/format/path_owner.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/info_log.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/options_file.h"
#include "replication/store/open/path_ownership.h"
#include "rocksdb/metadata.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DBOptions;
using rocksdb::Env;
using rocksdb::Status;

std::vector<NamedPath> PathsElsewhere(
    const DBOptions& options,
    const std::vector<ColumnFamilyDescriptor>& families,
    const std::string& directory) {
  std::vector<NamedPath> paths =
      TablePathsElsewhere(options, families, directory);
  for (NamedPath& log : LogPathElsewhere(options, directory)) {
    paths.push_back(std::move(log));
  }
  return paths;
}

// Returns whether `path` is outside of `directory`. Of a path within, it only
// matters whether it is another database's.
bool IsOutside(const std::string& path, const std::string& directory) {
  return !IsWithin(WithoutLinks(path), WithoutLinks(directory));
}

// Returns where the log is, which may be in `directory`.
std::string LogPath(const DBOptions& options, const std::string& directory) {
  return options.wal_dir.empty() ? directory
                                 : AbsolutePath(options.env, options.wal_dir);
}

// Returns how errors begin.
std::string OptionOf(const std::string& directory, const NamedPath& named) {
  return "rocksync: " + std::string(named.option) + " of " + directory + ", " +
         named.path;
}

Status OwnedByOther(const std::string& directory, const NamedPath& named,
                    const FoundOwner& found) {
  const std::string what = OptionOf(directory, named);
  const std::string give_up =
      "give each database a directory of its own; or, if that one " +
      std::string("does not use ") + named.path + " any more, remove " +
      named.path + "/" + kOwnerFileName;
  switch (found.ownership) {
    case Ownership::kDatabase:
      return Status::InvalidArgument(
          what + ", is the directory of another database",
          "give each database a directory of its own");
    case Ownership::kWithin:
      return Status::InvalidArgument(
          what + ", lies in the directory of another database, " +
              found.enclosing + ", whose log or tables may be there",
          "give each database a directory of its own; or, if this one's are "
          "there, move them "
          "out of that directory");
    case Ownership::kReplacedDatabase:
      return Status::InvalidArgument(
          what + ", belongs to another database, which was in " + found.other +
              ", too, before this one (its file ROCKSYNC.paths is another, or "
              "gone), and whose files there this one would use up and delete",
          give_up);
    default:
      return Status::InvalidArgument(
          what + ", belongs to another database, which was in " + found.other +
              ", and whose files there this one would use up and delete",
          give_up);
  }
}

// Returns where the database's OPTIONS file says that the log is; empty if
// there is no such file.
std::string LogPathByOptionsFile(Env* env, const std::string& name,
                                 const std::string& directory) {
  DBOptions last;
  std::vector<ColumnFamilyDescriptor> families;
  if (!LoadOptionsFile(env, name, &last, &families).ok()) return "";
  return last.wal_dir.empty() ? directory : AbsolutePath(env, last.wal_dir);
}

// Checks a log path that is nobody's, of a database that no opening of the
// library has left in this place (`plain`: it has no index, either). A database
// that RocksDB ever opened has a log somewhere. One in its directory is its
// own; for one elsewhere the OPTIONS file says so, which may be that of an
// original.
Status CheckUnmarkedLog(Env* env, const std::string& name,
                        const std::string& directory, const NamedPath& named,
                        bool plain) {
  const std::string before = LogPathByOptionsFile(env, name, directory);
  if (!before.empty() && WithoutLinks(before) == WithoutLinks(named.path)) {
    return Status::OK();
  }
  // A copy may be given a new place for its log.
  const bool anew = !HoldsLogs(env, named.path);
  Status status;
  if (plain && !before.empty() && !anew && IsOutside(named.path, directory)) {
    status = CheckLogIsTheSame(env, directory, before, named.path);
  }
  return status.ok() ? CheckLogIsTheSame(env, directory, directory, named.path)
                     : status;
}

// Checks that a plain database, which is given no directory for its log, does
// not have it where RocksDB was told to have it before. A database without LOCK
// was copied by a checkpoint or a backup, which leave it out, and has its log
// with it.
Status CheckLogIsNotForgotten(Env* env, const std::string& name,
                              const std::string& directory) {
  if (!env->FileExists(directory + "/LOCK").ok()) return Status::OK();
  const std::string before = LogPathByOptionsFile(env, name, directory);
  if (before.empty() || WithoutLinks(before) == WithoutLinks(directory)) {
    return Status::OK();
  }
  FoundOwner found;
  const Status status = FindOwner(env, before, directory, &found);
  return status.ok() && !found.IsOwnedByOther()
             ? CheckLogIsTheSame(env, directory, before, directory)
             : status;
}

// Finds the owner of a path that the options name. RocksDB's `archive` in a
// directory with a log belongs to the owner of that log.
Status FindOwnerOf(const DBOptions& options, const NamedPath& named,
                   const std::string& directory, FoundOwner* found) {
  Status status = FindOwner(options.env, named.path, directory, found);
  const std::string log = ArchivedLog(named.path);
  if (!status.ok() || found->ownership != Ownership::kUnowned || log.empty() ||
      log == WithoutLinks(directory) ||
      log == WithoutLinks(LogPath(options, directory))) {
    return status;
  }
  FoundOwner of_log;
  status = FindOwner(options.env, log, directory, &of_log);
  if (status.ok() && of_log.ownership != Ownership::kOwn &&
      HoldsLogs(options.env, log)) {
    *found = {.ownership = Ownership::kWithin, .enclosing = log};
  }
  return status;
}

// Returns whether a directory for tables that is nobody's holds another
// database's log.
bool HoldsAnotherLog(const DBOptions& options, const std::string& directory,
                     const std::string& path) {
  const std::string log = WithoutLinks(LogPath(options, directory));
  return WithoutLinks(path) != log && ArchivedLog(path) != log &&
         HoldsLogs(options.env, path);
}

Status LogOfAnother(const std::string& directory, const NamedPath& named) {
  return Status::InvalidArgument(
      OptionOf(directory, named) +
          ", holds a log, which is elsewhere by DBOptions::wal_dir: it is "
          "another database's",
      "give each database a directory of its own; or, if no database uses that "
      "log, remove "
      "it");
}

// Returns whether the log is known to be the database's. One that RocksDB opens
// by itself may have been given another directory since the library wrote that
// this one is its own.
bool IsLogKnown(const FoundOwner& found, Known known) {
  return known == Known::kReplica ||
         (found.ownership == Ownership::kOwn && known != Known::kPlain);
}

Status CheckArchive(const DBOptions& options, const std::string& directory) {
  if (directory.empty()) return Status::OK();
  const std::string log = LogPath(options, directory);
  FoundOwner found;
  const Status status = FindArchiveOwner(options.env, log, directory, &found);
  if (!status.ok() || !found.IsOwnedByOther()) return status;
  return OwnedByOther(directory,
                      {"the archive of DBOptions::wal_dir", log + "/archive"},
                      found);
}

// Adds the directories of the tables that the MANIFEST lists to `*listed`.
Status TablePlaces(const DBOptions& given,
                   const std::vector<ColumnFamilyDescriptor>& families,
                   const std::string& name, std::set<std::string>* listed) {
  DBOptions options = given;
  options.info_log = std::make_shared<NoLog>();
  options.listeners.clear();
  options.allow_2pc = true;  // prepared transactions are refused elsewhere
  std::vector<ColumnFamilyDescriptor> all;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Status status = AllFamilies(options, name, families, {}, &all);
  if (status.ok()) {
    status = OpenPlainForReadOnly(options, name, all, &handles, &db);
  }
  if (!status.ok()) return status;
  std::vector<rocksdb::LiveFileMetaData> live;
  db->GetLiveFilesMetaData(&live);
  for (const auto& file : live) listed->insert(WithoutLinks(file.db_path));
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return status;
}

// RocksDB's own words in the error name the file and the cause.
Status CannotWrite(const std::string& what, const Status& status) {
  const std::string message =
      "rocksync: cannot write to " + what + ": " + status.ToString();
  constexpr char kRemedy[] =
      "let the process write there and make room; or name another directory";
  return status.IsNoSpace() ? Status::NoSpace(message, kRemedy)
                            : Status::IOError(message, kRemedy);
}

Status WriteOwnerOf(Env* env, const std::string& directory,
                    const NamedPath& named, PathOwner own, bool replaces,
                    std::vector<FormerOwner>* former) {
  Status status = MakeDirectory(env, named.path);
  if (!status.ok()) return status;
  own.path = NameOf(named.path);
  status = WriteOwner(env, kOwnerFileName, own, replaces, former);
  return status.ok() || status.IsBusy()
             ? status
             : CannotWrite(std::string(named.option) + " of " + directory +
                               ", " + named.path,
                           status);
}

Status CheckTablesOfNobody(const DBOptions& options,
                           const std::vector<ColumnFamilyDescriptor>& families,
                           const std::string& name,
                           const std::string& directory,
                           const std::vector<NamedPath>& paths) {
  if (paths.empty()) return Status::OK();
  std::set<std::string> listed;
  const Status status = TablePlaces(options, families, name, &listed);
  if (!status.ok()) return status;
  for (const NamedPath& named : paths) {
    if (listed.contains(WithoutLinks(named.path))) continue;
    return Status::InvalidArgument(
        OptionOf(directory, named) +
            ", holds tables, and the MANIFEST lists none of them: they are "
            "another database's, and would be deleted",
        "give each database a directory of its own; or, if no database uses "
        "them, remove "
        "them");
  }
  return status;
}

}  // namespace

Status CheckPathsAreFree(const DBOptions& options,
                         const std::vector<ColumnFamilyDescriptor>& families,
                         const std::string& directory) {
  Env* const env = options.env;
  const bool is_new = !env->FileExists(directory + "/CURRENT").ok();
  for (const NamedPath& named : PathsElsewhere(options, families, directory)) {
    FoundOwner found;
    const Status status = FindOwnerOf(options, named, directory, &found);
    if (!status.ok()) return status;
    // The database around the path may begin to write there later.
    const bool lies_within =
        found.ownership == Ownership::kUnowned && !found.enclosing.empty();
    if (lies_within) found.ownership = Ownership::kWithin;
    if (found.IsOwnedByOther()) return OwnedByOther(directory, named, found);
    // In a new database's paths, its own files are left from one that was here.
    const bool may_hold = found.ownership == Ownership::kOwn && !is_new;
    if (may_hold ||
        (!HoldsTables(env, named.path) && !HoldsLogs(env, named.path))) {
      continue;
    }
    return Status::InvalidArgument(
        "rocksync: " + directory + " is to be made with " + named.option +
            ", " + named.path +
            ", which holds a log or tables, of another database or of one "
            "that was there before",
        "give each database a directory of its own; bring back what is missing "
        "of the one "
        "before, its CURRENT file first; or, if that database is gone, remove "
        "them");
  }
  return CheckArchive(options, directory);
}

Status CheckPathsAreOwn(const DBOptions& options,
                        const std::vector<ColumnFamilyDescriptor>& families,
                        const std::string& name, const std::string& directory,
                        Known known) {
  Env* const env = options.env;
  FoundOwner found;
  const std::vector<NamedPath> logs = LogPathElsewhere(options, directory);
  if (known == Known::kPlain && logs.empty() && !directory.empty()) {
    const Status status = CheckLogIsNotForgotten(env, name, directory);
    if (!status.ok()) return status;
  }
  for (const NamedPath& named : logs) {
    Status status = FindOwnerOf(options, named, directory, &found);
    if (status.ok() && found.IsOwnedByOther()) {
      status = OwnedByOther(directory, named, found);
    } else if (status.ok() && !IsLogKnown(found, known)) {
      status =
          CheckUnmarkedLog(env, name, directory, named, known == Known::kPlain);
    }
    if (!status.ok()) return status;
  }
  std::vector<NamedPath> unowned;
  for (const NamedPath& named :
       TablePathsElsewhere(options, families, directory)) {
    const Status status = FindOwnerOf(options, named, directory, &found);
    if (!status.ok()) return status;
    if (found.IsOwnedByOther()) return OwnedByOther(directory, named, found);
    if (found.ownership != Ownership::kUnowned) continue;
    if (HoldsAnotherLog(options, directory, named.path)) {
      return LogOfAnother(directory, named);
    }
    if (IsOutside(named.path, directory) && HoldsTables(env, named.path)) {
      unowned.push_back(named);
    }
  }
  const Status status =
      CheckTablesOfNobody(options, families, name, directory, unowned);
  return status.ok() ? CheckArchive(options, directory) : status;
}

Status CheckLogIsNotAnothers(Env* env, const std::string& directory,
                             const std::string& wal_dir) {
  DBOptions options;
  options.env = env;
  options.wal_dir = wal_dir;
  for (const NamedPath& named : LogPathElsewhere(options, directory)) {
    FoundOwner found;
    const Status status = FindOwnerOf(options, named, directory, &found);
    if (!status.ok() || !found.IsOwnedByOther()) return status;
    return OwnedByOther(directory, named, found);
  }
  return Status::OK();
}

Status OwnPaths(const DBOptions& options,
                const std::vector<ColumnFamilyDescriptor>& families,
                const std::string& directory,
                std::vector<FormerOwner>* former) {
  Env* const env = options.env;
  const std::vector<NamedPath> paths =
      PathsElsewhere(options, families, directory);
  // RocksDB will fail as well, and names what hinders it.
  if (!paths.empty() && !env->CreateDirIfMissing(directory).ok()) {
    return Status::OK();
  }
  // Another database may have been given one of the paths since the check.
  std::vector<bool> replaces;
  for (const NamedPath& named : paths) {
    replaces.push_back(env->FileExists(named.path + "/" + kOwnerFileName).ok());
    FoundOwner found;
    const Status status = FindOwnerOf(options, named, directory, &found);
    if (!status.ok()) return status;
    if (found.IsOwnedByOther()) return OwnedByOther(directory, named, found);
  }
  PathOwner own;
  Status status = ReadOwnRecord(env, directory, &own);
  if (!status.ok()) return status;
  // A copy has its original's token, which is removed now.
  const DirectoryName here = NameOf(directory);
  if (!own.database.Is(here) && own.token != 0) {
    own.token = 0;
    status = RemoveOwner(env, directory, kPathsFileName, former);
    if (!status.ok()) return CannotWrite(directory, status);
  }
  if (paths.empty()) return status;
  while (own.token == 0) own.token = RandomBits();
  own.database = own.path = here;
  // The database's file comes first: without its token the database would not
  // get into a directory that says that it is its own.
  status = WriteOwner(env, kPathsFileName, own, /*replaces=*/true, former);
  if (!status.ok()) return CannotWrite(directory, status);
  for (size_t i = 0; i < paths.size(); ++i) {
    status = WriteOwnerOf(env, directory, paths[i], own, replaces[i], former);
    if (!status.ok()) return status;
  }
  return status;
}

}  // namespace rocksync

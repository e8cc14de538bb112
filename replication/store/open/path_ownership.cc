#include "replication/store/open/path_ownership.h"

#include <filesystem>
#include <set>

#include "replication/base/directories.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/open/log_files.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::DBOptions;
using rocksdb::Env;
using rocksdb::Status;

constexpr char kArchiveName[] = "archive";

// Returns whether `path` is a database, or is to be one, as its id was made.
bool IsDatabase(Env* env, const std::string& path) {
  return env->FileExists(path + "/CURRENT").ok() ||
         env->FileExists(path + "/" + kIntendedIdFileName).ok();
}

bool HoldsFiles(Env* env, const std::string& path) {
  return HoldsTables(env, path) || HoldsLogs(env, path);
}

// Returns the next directory above `path` that is a database's own; empty if
// there is none, or the next is `directory`.
std::string DatabaseAbove(Env* env, const std::string& path,
                          const std::string& directory) {
  const std::string own = WithoutLinks(directory);
  std::filesystem::path at = WithoutLinks(path);
  while (at.has_relative_path()) {
    at = at.parent_path();
    if (at == own) return "";
    if (IsDatabase(env, at.string())) return at.string();
  }
  return "";
}

// Returns the database whose log or tables are in `path`, by the file in it;
// empty if there is none. The file of a copy says nothing of where it is.
std::string DatabaseNamedIn(Env* env, const std::string& path) {
  PathOwner owner;
  return ReadOwner(env, path, kOwnerFileName, &owner).ok() &&
                 owner.path.Is(NameOf(path))
             ? owner.database.path
             : "";
}

// Finds the owner of `path` by the file in it.
Status FindNamedOwner(Env* env, const std::string& path,
                      const std::string& directory, FoundOwner* found) {
  PathOwner owner;
  Status status = ReadOwner(env, path, kOwnerFileName, &owner);
  if (!status.ok()) return status;
  PathOwner own;
  status = ReadOwnRecord(env, directory, &own);
  if (!status.ok()) return status;
  const bool has_token = own.token != 0 && own.token == owner.token;
  const bool is_here = owner.database.Is(NameOf(directory));
  const bool was_copied = !owner.path.Is(NameOf(path));
  // The file was copied with the database's own directory, and all that is in
  // either, or carried elsewhere: it is not the only one that says so.
  if (has_token && was_copied) return status;
  if (has_token && is_here) {
    found->ownership = Ownership::kOwn;
    return status;
  }
  // The database that the file names may be renamed, or not mounted, and will
  // write there again. A copy of an empty directory is nobody's.
  if (!was_copied || HoldsFiles(env, path)) {
    found->ownership =
        is_here ? Ownership::kReplacedDatabase : Ownership::kNamed;
    found->other = owner.database.path;
  }
  return status;
}

}  // namespace

std::vector<NamedPath> TablePathsElsewhere(
    const DBOptions& options,
    const std::vector<ColumnFamilyDescriptor>& families,
    const std::string& directory) {
  std::vector<NamedPath> paths;
  const std::string own = WithoutLinks(directory);
  const auto add = [&](const char* option,
                       const std::vector<rocksdb::DbPath>& named) {
    for (const rocksdb::DbPath& each : named) {
      std::string path = AbsolutePath(options.env, each.path);
      if (WithoutLinks(path) != own) paths.push_back({option, path});
    }
  };
  if (directory.empty()) return paths;
  add("DBOptions::db_paths", options.db_paths);
  for (const ColumnFamilyDescriptor& family : families) {
    add("ColumnFamilyOptions::cf_paths", family.options.cf_paths);
  }
  return paths;
}

std::vector<NamedPath> LogPathElsewhere(const DBOptions& options,
                                        const std::string& directory) {
  if (directory.empty() || options.wal_dir.empty()) return {};
  const std::string path = AbsolutePath(options.env, options.wal_dir);
  if (WithoutLinks(path) == WithoutLinks(directory)) return {};
  return {{"DBOptions::wal_dir", path}};
}

bool HoldsTables(Env* env, const std::string& path) {
  std::vector<std::string> names;
  env->GetChildren(path, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (IsTableOrBlob(name)) return true;
  }
  return false;
}

bool HoldsLogs(Env* env, const std::string& path) {
  std::set<std::string> logs;
  return ListLogFiles(env, path, &logs).ok() && !logs.empty();
}

Status ReadOwnRecord(Env* env, const std::string& directory, PathOwner* own) {
  const Status status = ReadOwner(env, directory, kPathsFileName, own);
  return status.IsNotFound() ? Status::OK() : status;
}

Status CheckLiesInNoDatabase(Env* env, const std::string& path) {
  std::error_code unknown;
  std::filesystem::path at =
      WithoutLinks(std::filesystem::absolute(path, unknown).string());
  if (unknown) return Status::OK();
  if (!at.has_filename()) at = at.parent_path();
  while (at.has_relative_path()) {
    at = at.parent_path();
    const std::string around = at.string();
    if (IsDatabase(env, around)) {
      return Status::InvalidArgument(
          "rocksync: " + path + " lies in the directory of another database, " +
              around,
          "give a directory outside of it: what copies or removes that one "
          "would take this one along");
    }
    const std::string named = DatabaseNamedIn(env, around);
    if (!named.empty()) {
      return Status::InvalidArgument(
          "rocksync: " + path + " lies in " + around +
              ", which is for the log or the tables of the database in " +
              named,
          "give a directory outside of it; or, if that database does not use "
          "it any more, remove " +
              around + "/" + kOwnerFileName);
    }
  }
  return Status::OK();
}

std::string ArchivedLog(const std::string& path) {
  const std::filesystem::path real = WithoutLinks(path);
  return real.filename() == kArchiveName ? real.parent_path().string() : "";
}

Status FindOwner(Env* env, const std::string& path,
                 const std::string& directory, FoundOwner* found) {
  *found = FoundOwner();
  if (IsDatabase(env, path)) {
    *found = {.ownership = Ownership::kDatabase, .other = path};
    return Status::OK();
  }
  Status status = FindNamedOwner(env, path, directory, found);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (found->ownership != Ownership::kUnowned) return Status::OK();
  const std::string log = ArchivedLog(path);
  // A database that no opening of the library has seen has no such file.
  const std::string above = DatabaseAbove(env, path, directory);
  if (!above.empty()) {
    const bool is_used = !log.empty() || HoldsFiles(env, path);
    *found = {.ownership = is_used ? Ownership::kWithin : Ownership::kUnowned,
              .enclosing = above};
  }
  if (!above.empty() || log.empty()) return Status::OK();
  status = FindNamedOwner(env, log, directory, found);
  if (!found->IsOwnedByOther()) *found = FoundOwner();
  return status.IsNotFound() ? Status::OK() : status;
}

Status FindArchiveOwner(Env* env, const std::string& path,
                        const std::string& directory, FoundOwner* found) {
  *found = FoundOwner();
  const std::string archive = path + "/" + kArchiveName;
  PathOwner owner;
  Status status = ReadOwner(env, archive, kOwnerFileName, &owner);
  // A file that was copied with the log's directory says nothing of this one.
  if (status.ok() && owner.path.Is(NameOf(archive))) {
    status = FindNamedOwner(env, archive, directory, found);
  }
  return status.IsNotFound() ? Status::OK() : status;
}

}  // namespace rocksync

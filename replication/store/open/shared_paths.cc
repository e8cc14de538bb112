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
#include "rocksdb/metadata.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::DBOptions;
using rocksdb::Env;
using rocksdb::Status;

struct NamedPath {
  const char* option;
  std::string path;  // absolute
};

// Or within it, where another database has its own directory, or files.
bool IsOutside(Env* env, const std::string& path,
               const std::string& directory) {
  const std::string at = WithoutLinks(path);
  const std::string home = WithoutLinks(directory);
  return !IsWithin(at, home) ||
         (at != home && (env->FileExists(path + "/CURRENT").ok() ||
                         env->FileExists(path + "/" + kOwnerFileName).ok()));
}

std::vector<NamedPath> TablePathsOutside(
    const DBOptions& options,
    const std::vector<ColumnFamilyDescriptor>& families,
    const std::string& directory) {
  std::vector<NamedPath> paths;
  const auto add = [&](const char* option,
                       const std::vector<rocksdb::DbPath>& named) {
    for (const rocksdb::DbPath& each : named) {
      std::string path = AbsolutePath(options.env, each.path);
      if (IsOutside(options.env, path, directory))
        paths.push_back({option, path});
    }
  };
  if (directory.empty()) return paths;
  add("DBOptions::db_paths", options.db_paths);
  for (const ColumnFamilyDescriptor& family : families) {
    add("ColumnFamilyOptions::cf_paths", family.options.cf_paths);
  }
  return paths;
}

// None, or one.
std::vector<NamedPath> LogPathOutside(const DBOptions& options,
                                      const std::string& directory) {
  if (directory.empty() || options.wal_dir.empty()) return {};
  const std::string path = AbsolutePath(options.env, options.wal_dir);
  if (!IsOutside(options.env, path, directory)) return {};
  return {{"DBOptions::wal_dir", path}};
}

std::vector<NamedPath> PathsOutside(
    const DBOptions& options,
    const std::vector<ColumnFamilyDescriptor>& families,
    const std::string& directory) {
  std::vector<NamedPath> paths =
      TablePathsOutside(options, families, directory);
  for (NamedPath& log : LogPathOutside(options, directory)) {
    paths.push_back(std::move(log));
  }
  return paths;
}

// Where one does not read, RocksDB says so.
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

enum class Ownership { kOwn, kAnothers, kNobodys };

// What the database in `directory` says of itself; without a token, it has no
// directory outside yet.
Status ReadOwn(Env* env, const std::string& directory, PathOwner* own) {
  const Status status = ReadOwner(env, directory, kPathsFileName, own);
  return status.IsNotFound() ? Status::OK() : status;
}

// `*anothers`: where that database was. A directory that holds nothing belongs
// to whom it says as long as that one is there: what it writes there later
// would be taken for the other one's.
Status FindOwner(Env* env, const std::string& path,
                 const std::string& directory, Ownership* ownership,
                 std::string* anothers) {
  *ownership = Ownership::kNobodys;
  // A database's own directory.
  if (env->FileExists(path + "/CURRENT").ok()) {
    *ownership = Ownership::kAnothers;
    *anothers = path;
    return Status::OK();
  }
  PathOwner owner;
  Status status = ReadOwner(env, path, kOwnerFileName, &owner);
  if (!status.ok()) return status.IsNotFound() ? Status::OK() : status;
  PathOwner own;
  status = ReadOwn(env, directory, &own);
  if (!status.ok()) return status;
  const bool is_here = owner.database.Is(NameOf(directory));
  if (is_here && own.token != 0 && own.token == owner.token) {
    *ownership = Ownership::kOwn;
    return status;
  }
  // Else it was copied with all that is in the directory.
  if (!owner.path.Is(NameOf(path))) return status;
  const bool is_alive =
      !is_here && env->FileExists(owner.database.path + "/CURRENT").ok();
  if (is_alive || HoldsTables(env, path) || HoldsLogs(env, path)) {
    *ownership = Ownership::kAnothers;
    *anothers = owner.database.path;
  }
  return status;
}

Status IsAnothers(const std::string& directory, const NamedPath& named,
                  const std::string& anothers) {
  if (anothers == named.path) {
    return Status::InvalidArgument("rocksync: " + std::string(named.option) +
                                       " of " + directory + ", " + named.path +
                                       ", is the directory of another database",
                                   "give each database its own");
  }
  return Status::InvalidArgument(
      "rocksync: " + std::string(named.option) + " of " + directory + ", " +
          named.path + ", belongs to another database, which was in " +
          anothers + ", and whose files there this one would use up and delete",
      "give each database its own; or, if that one does not use " + named.path +
          " any more, remove " + named.path + "/" + kOwnerFileName);
}

// Where its OPTIONS file says that the log is; empty: there is no such file.
std::string LogPathByOptionsFile(Env* env, const std::string& name,
                                 const std::string& directory) {
  DBOptions last;
  std::vector<ColumnFamilyDescriptor> families;
  if (!LoadOptionsFile(env, name, &last, &families).ok()) return "";
  return last.wal_dir.empty() ? directory : AbsolutePath(env, last.wal_dir);
}

// Of a database that the library has not opened yet, and a path that is
// nobody's. A RocksDB that was ever opened has a log somewhere: in its
// directory it is its own; elsewhere the OPTIONS file says so, which may be
// that of an original.
Status CheckPlainLog(Env* env, const std::string& name,
                     const std::string& directory, const NamedPath& named) {
  const std::string before = LogPathByOptionsFile(env, name, directory);
  if (!before.empty() && WithoutLinks(before) == WithoutLinks(named.path)) {
    return Status::OK();
  }
  // A copy may be given a new place of its own.
  const bool anew = !HoldsLogs(env, named.path);
  Status status;
  if (!before.empty() && !anew) {
    status = CheckLogIsTheSame(env, directory, before, named.path);
  }
  return status.ok() ? CheckLogIsTheSame(env, directory, directory, named.path)
                     : status;
}

// `*listed`: where the tables are that the database's MANIFEST lists.
Status TablePlaces(const DBOptions& given,
                   const std::vector<ColumnFamilyDescriptor>& families,
                   const std::string& name, std::set<std::string>* listed) {
  DBOptions options = given;
  options.info_log = std::make_shared<NoLog>();
  options.listeners.clear();
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

// RocksDB's own words name the file and the cause.
Status CannotWrite(const std::string& what, const Status& status) {
  const std::string message =
      "rocksync: cannot write to " + what + ": " + status.ToString();
  constexpr char kRemedy[] =
      "let the process write there and make room; or name another directory";
  return status.IsNoSpace() ? Status::NoSpace(message, kRemedy)
                            : Status::IOError(message, kRemedy);
}

Status WriteOwnerOf(Env* env, const std::string& directory,
                    const NamedPath& named, PathOwner own) {
  Status status = MakeDirectory(env, named.path);
  if (!status.ok()) return status;
  own.path = NameOf(named.path);
  status = WriteOwner(env, kOwnerFileName, own);
  return status.ok() ? status
                     : CannotWrite(std::string(named.option) + " of " +
                                       directory + ", " + named.path,
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
        "rocksync: " + std::string(named.option) + " of " + directory + ", " +
            named.path +
            ", holds tables, and the MANIFEST lists none of them: they are "
            "another database's, and would be deleted",
        "give each database its own; or, if no database uses them, remove "
        "them");
  }
  return status;
}

}  // namespace

Status CheckPathsAreFree(const DBOptions& options,
                         const std::vector<ColumnFamilyDescriptor>& families,
                         const std::string& directory) {
  Env* const env = options.env;
  for (const NamedPath& named : PathsOutside(options, families, directory)) {
    Ownership ownership;
    std::string anothers;
    const Status status =
        FindOwner(env, named.path, directory, &ownership, &anothers);
    if (!status.ok()) return status;
    if (ownership == Ownership::kAnothers) {
      return IsAnothers(directory, named, anothers);
    }
    if (ownership == Ownership::kOwn ||
        (!HoldsTables(env, named.path) && !HoldsLogs(env, named.path))) {
      continue;
    }
    return Status::InvalidArgument(
        "rocksync: " + directory + " is to be made with " + named.option +
            ", " + named.path +
            ", which holds a log or tables of another "
            "database",
        "give each database its own; or, if that database is gone, remove "
        "them");
  }
  return Status::OK();
}

Status CheckPathsAreOwn(const DBOptions& options,
                        const std::vector<ColumnFamilyDescriptor>& families,
                        const std::string& name, const std::string& directory,
                        bool plain) {
  Env* const env = options.env;
  Ownership ownership;
  std::string anothers;
  for (const NamedPath& named : LogPathOutside(options, directory)) {
    Status status =
        FindOwner(env, named.path, directory, &ownership, &anothers);
    if (status.ok() && ownership == Ownership::kAnothers) {
      status = IsAnothers(directory, named, anothers);
    } else if (status.ok() && ownership == Ownership::kNobodys && plain) {
      status = CheckPlainLog(env, name, directory, named);
    }
    if (!status.ok()) return status;
  }
  std::vector<NamedPath> nobodys;
  for (const NamedPath& named :
       TablePathsOutside(options, families, directory)) {
    const Status status =
        FindOwner(env, named.path, directory, &ownership, &anothers);
    if (!status.ok()) return status;
    if (ownership == Ownership::kAnothers) {
      return IsAnothers(directory, named, anothers);
    }
    if (ownership == Ownership::kNobodys && HoldsTables(env, named.path)) {
      nobodys.push_back(named);
    }
  }
  return CheckTablesOfNobody(options, families, name, directory, nobodys);
}

Status CheckLogIsNotAnothers(Env* env, const std::string& directory,
                             const std::string& wal_dir) {
  DBOptions options;
  options.env = env;
  options.wal_dir = wal_dir;
  for (const NamedPath& named : LogPathOutside(options, directory)) {
    Ownership ownership;
    std::string anothers;
    const Status status =
        FindOwner(env, named.path, directory, &ownership, &anothers);
    if (!status.ok() || ownership != Ownership::kAnothers) return status;
    return IsAnothers(directory, named, anothers);
  }
  return Status::OK();
}

Status OwnPaths(const DBOptions& options,
                const std::vector<ColumnFamilyDescriptor>& families,
                const std::string& directory) {
  Env* const env = options.env;
  const std::vector<NamedPath> paths =
      PathsOutside(options, families, directory);
  // As RocksDB will, which names what hinders it.
  if (paths.empty() || !env->CreateDirIfMissing(directory).ok()) {
    return Status::OK();
  }
  PathOwner own;
  Status status = ReadOwn(env, directory, &own);
  if (!status.ok()) return status;
  // A copy has its original's token, but not any longer.
  const DirectoryName here = NameOf(directory);
  if (!own.database.Is(here)) own.token = 0;
  while (own.token == 0) own.token = RandomBits();
  own.database = own.path = here;
  // The database's first: without its token it would not get into a directory
  // that says that it is its own.
  status = WriteOwner(env, kPathsFileName, own);
  if (!status.ok()) return CannotWrite(directory, status);
  for (const NamedPath& named : paths) {
    status = WriteOwnerOf(env, directory, named, own);
    if (!status.ok()) return status;
  }
  return status;
}

}  // namespace rocksync

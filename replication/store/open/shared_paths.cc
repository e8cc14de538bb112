#include "replication/store/open/shared_paths.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "replication/base/directories.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/open/log_files.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::DBOptions;
using rocksdb::Env;
using rocksdb::Status;

struct NamedPath {
  const char* option;
  std::string path;  // absolute
};

// By any name: a link, or a mount.
bool IsSameDirectory(const std::string& a, const std::string& b) {
  std::error_code unknown;
  return a == b || std::filesystem::equivalent(a, b, unknown);
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
      if (!IsWithin(path, directory))
        paths.push_back({option, std::move(path)});
    }
  };
  add("DBOptions::db_paths", options.db_paths);
  for (const ColumnFamilyDescriptor& family : families) {
    add("ColumnFamilyOptions::cf_paths", family.options.cf_paths);
  }
  return paths;
}

// Where one does not read, RocksDB says so.
bool HoldsTables(Env* env, const std::string& path) {
  std::vector<std::string> names;
  env->GetChildren(path, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (name.ends_with(".sst") || name.ends_with(".blob")) return true;
  }
  return false;
}

bool HoldsLogs(Env* env, const std::string& path) {
  std::set<std::string> logs;
  return ListLogFiles(env, path, &logs).ok() && !logs.empty();
}

Status IsTheOriginals(const std::string& directory, const std::string& original,
                      const NamedPath& named, const char* files) {
  return Status::InvalidArgument(
      "rocksync: " + directory + " is a copy of the database in " + original +
          ", and " + named.option + ", " + named.path + ", holds " + files +
          " of that one, which this one would use up and delete",
      "give the copy paths of its own; or, if " + original +
          " is not used any more, move it away");
}

}  // namespace

Status CheckNoTableIsThere(const DBOptions& options,
                           const std::vector<ColumnFamilyDescriptor>& families,
                           const std::string& directory) {
  for (const NamedPath& named :
       TablePathsOutside(options, families, directory)) {
    if (!HoldsTables(options.env, named.path)) continue;
    return Status::InvalidArgument(
        "rocksync: " + directory + " is to be made with " + named.option +
            ", " + named.path + ", which holds tables of another database",
        "give each database its own; or, if that database is gone, remove its "
        "tables");
  }
  return Status::OK();
}

Status CheckPathsAreNotTheOriginals(
    const DBOptions& options,
    const std::vector<ColumnFamilyDescriptor>& families,
    const std::string& directory, const std::string& opened_last) {
  if (opened_last.empty() || IsSameDirectory(opened_last, directory) ||
      CurrentManifest(options.env, opened_last).empty()) {
    return Status::OK();
  }
  const std::string wal_dir = options.wal_dir.empty()
                                  ? directory
                                  : AbsolutePath(options.env, options.wal_dir);
  if (!IsWithin(wal_dir, directory) && HoldsLogs(options.env, wal_dir)) {
    return IsTheOriginals(directory, opened_last,
                          {"DBOptions::wal_dir", wal_dir}, "the log");
  }
  for (const NamedPath& named :
       TablePathsOutside(options, families, directory)) {
    if (HoldsTables(options.env, named.path)) {
      return IsTheOriginals(directory, opened_last, named, "tables");
    }
  }
  return Status::OK();
}

}  // namespace rocksync

#include "replication/base/directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace rocksync {

using rocksdb::Env;
using rocksdb::Status;

Status CheckDatabaseName(const std::string& name) {
  return name.empty() ? Status::InvalidArgument(
                            "rocksync: the name of the database is empty",
                            "give its directory")
                      : Status::OK();
}

Status SyncDirectory(Env* env, const std::string& name) {
  std::unique_ptr<rocksdb::Directory> directory;
  const Status status = env->NewDirectory(name, &directory);
  return status.ok() ? directory->Fsync() : status;
}

std::string AbsolutePath(Env* env, const std::string& path) {
  std::string absolute;
  if (!env->GetAbsolutePath(path, &absolute).ok()) return "";
  // RocksDB's own file system says of any relative path where the process is.
  std::string other;
  if (!path.starts_with('/') &&
      env->GetAbsolutePath(path + "/x", &other).ok() && other == absolute) {
    absolute.append("/").append(path);
  }
  std::string normal =
      std::filesystem::path(absolute).lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

namespace {

bool IsForbidden(const std::string& name, int how) {
  return ::faccessat(AT_FDCWD, name.c_str(), how, AT_EACCESS) != 0 &&
         errno == EACCES;
}

// Others may be anybody's.
bool IsOfADatabase(std::string_view name) {
  for (const char* start : {"CURRENT", "MANIFEST-", "OPTIONS-", "ROCKSYNC"}) {
    if (name.starts_with(start)) return true;
  }
  for (const char* end : {".log", ".sst", ".ldb", ".blob"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

Status MayNotRead(const std::string& path) {
  return Status::IOError(
      "rocksync: cannot read " + path + ", permission denied",
      "run as the user of its program");
}

}  // namespace

Status CheckMayReach(const std::string& path) {
  if (!IsForbidden(path, F_OK)) return Status::OK();
  std::filesystem::path above;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    above /= part;
    if (above != path && IsForbidden(above.string(), X_OK)) break;
  }
  return Status::IOError(
      "rocksync: cannot see what is in " + path + ", as " + above.string() +
          " may not be entered: permission denied",
      "let the user of this process enter that directory (chmod +x), or run as "
      "a user who may");
}

Status CheckMayWriteIn(const std::string& directory) {
  if (!IsForbidden(directory, W_OK | X_OK)) return Status::OK();
  return Status::IOError(
      "rocksync: cannot write in " + directory + ", permission denied",
      "run as the user of its program");
}

Status CheckMayReadFiles(const std::string& directory) {
  std::error_code unknown;
  const std::filesystem::path absolute =
      std::filesystem::absolute(directory, unknown);
  const Status status =
      unknown ? Status::OK() : CheckMayReach(absolute.lexically_normal());
  if (!status.ok()) return status;
  // Root may not execute a file that nobody may.
  if (std::filesystem::is_directory(directory, unknown) &&
      IsForbidden(directory, R_OK | X_OK)) {
    return MayNotRead(directory + "/");
  }
  std::filesystem::directory_iterator files(directory, unknown);
  for (; !unknown && files != std::filesystem::directory_iterator();
       files.increment(unknown)) {
    const std::string file = files->path().string();
    if (IsOfADatabase(files->path().filename().string()) &&
        IsForbidden(file, R_OK)) {
      return MayNotRead(file);
    }
  }
  return Status::OK();
}

Status CheckMayReadFiles(const std::string& directory,
                         const std::string& wal_dir) {
  const Status status = CheckMayReadFiles(directory);
  return status.ok() && !wal_dir.empty() ? CheckMayReadFiles(wal_dir) : status;
}

std::string WithoutLinks(const std::string& path) {
  std::error_code unknown;
  const auto canonical = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : canonical.string();
}

bool IsWithin(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

}  // namespace rocksync

#include "replication/base/directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "rocksdb/file_system.h"

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

Status ExchangeDirectories(Env* env, const std::string& one,
                           const std::string& other) {
#ifdef RENAME_EXCHANGE
  // Another FileSystem may use names that the system does not know, or knows
  // for other files.
  if (env->GetFileSystem() == rocksdb::FileSystem::Default()) {
    if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(),
                    RENAME_EXCHANGE) == 0) {
      return Status::OK();
    }
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
      const std::error_code error(errno, std::generic_category());
      return Status::IOError(
          "rocksync: cannot exchange " + one + " and " + other,
          error.message());
    }
  }
#endif
  return Status::NotSupported(
      "rocksync: " + one + " and " + other + " cannot be exchanged",
      "the system has no RENAME_EXCHANGE; move one away, then the other into "
      "its place");
}

std::string AbsolutePath(Env* env, const std::string& path) {
  std::string absolute;
  if (!env->GetAbsolutePath(path, &absolute).ok()) return "";
  // RocksDB's own file system returns the working directory for any relative
  // path.
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

int WhyForbidden(const std::string& path, int how) {
  return ::faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0 ? 0 : errno;
}

namespace {

bool IsForbidden(const std::string& path, int how) {
  return WhyForbidden(path, how) == EACCES;
}

// A file that has none of these names may belong to anyone.
bool IsOfADatabase(std::string_view name) {
  for (const char* start : {"CURRENT", "MANIFEST-", "OPTIONS-", "ROCKSYNC"}) {
    if (name.starts_with(start)) return true;
  }
  for (const char* end : {".log", ".sst", ".ldb", ".blob"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

Status CheckMay(const char* do_what, const std::string& path, int how) {
  const std::string cannot = std::string("rocksync: cannot ") + do_what + path;
  switch (WhyForbidden(path, how)) {
    case EACCES:
    case EPERM:
      return Status::IOError(cannot + ", permission denied",
                             "run as the user of its program");
    case EROFS:
      return Status::IOError(cannot + ", read-only file system",
                             "mount it for writing, or use a copy");
    default:
      return Status::OK();
  }
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

Status CheckMayRead(const std::string& path) {
  return CheckMay("read ", path, R_OK);
}

Status CheckMayWrite(const std::string& path) {
  return CheckMay("write ", path, W_OK);
}

Status CheckMayReadFiles(const std::string& directory) {
  std::error_code unknown;
  const std::filesystem::path absolute =
      std::filesystem::absolute(directory, unknown);
  Status status =
      unknown ? Status::OK() : CheckMayReach(absolute.lexically_normal());
  // Even root may not execute a file without an x bit, so X_OK is for
  // directories.
  if (status.ok() && std::filesystem::is_directory(directory, unknown)) {
    status = CheckMay("read ", directory + "/", R_OK | X_OK);
  }
  if (!status.ok()) return status;
  std::filesystem::directory_iterator files(directory, unknown);
  for (; !unknown && files != std::filesystem::directory_iterator();
       files.increment(unknown)) {
    if (!IsOfADatabase(files->path().filename().string())) continue;
    status = CheckMayRead(files->path().string());
    if (!status.ok()) return status;
  }
  return status;
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

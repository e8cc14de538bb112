#include "replication/base/directories.h"

#include <filesystem>
#include <memory>
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

std::string WithoutLinks(const std::string& path) {
  std::error_code unknown;
  const auto canonical = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : canonical.string();
}

bool IsWithin(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

}  // namespace rocksync

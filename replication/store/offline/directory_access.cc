#include "replication/store/offline/directory_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/rocksdb_errors.h"

namespace rocksync {
namespace {

using rocksdb::Status;

std::string LockFileOf(const std::string& directory) {
  return directory + "/LOCK";
}

}  // namespace

bool OnReadOnlyFileSystem(const std::string& directory) {
  return WhyForbidden(LockFileOf(directory), W_OK) == EROFS;
}

Status CheckFreeToRead(const std::string& directory) {
  const std::string name = LockFileOf(directory);
  const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return CheckMayRead(name);
  struct flock held = {};
  held.l_type = F_RDLCK;
  held.l_whence = SEEK_SET;
  const bool known = fcntl(file, F_GETLK, &held) == 0;
  close(file);
  return known && held.l_type != F_UNLCK
             ? Status::IOError(directory, "is in use, stop its program first")
             : Status::OK();
}

Status LockDirectory(rocksdb::Env* env, const std::string& directory,
                     std::unique_ptr<DirectoryLock>* lock) {
  lock->reset();
  const Status allowed = CheckMayWrite(LockFileOf(directory));
  if (!allowed.ok()) return allowed;
  std::unique_ptr<DirectoryClaim> claim;
  const Status claimed = DirectoryClaim::Take(env, directory, &claim);
  if (!claimed.ok()) {
    return Status::IOError(
        directory,
        "is in use, stop its program first: it is open in this "
        "process already");
  }
  auto taken =
      std::make_unique<DirectoryLock>(env, directory, std::move(claim));
  const Status& status = taken->status();
  if (!status.ok()) {
    return Status::IOError(
        directory, (IsLockHeld(status) ? "is in use, stop its program first: "
                                       : "cannot be locked: ") +
                       status.ToString());
  }
  *lock = std::move(taken);
  return Status::OK();
}

Status CheckFreeToWrite(rocksdb::Env* env, const std::string& directory) {
  Status status = CheckMayWrite(LockFileOf(directory));
  if (status.ok()) status = CheckMayWrite(directory + "/");
  std::unique_ptr<DirectoryLock> lock;
  return status.ok() ? LockDirectory(env, directory, &lock) : status;
}

}  // namespace rocksync

#include "replication/store/offline/directory_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "replication/store/format/lock_held.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr char kWhoMay[] = "run as the user of its program";

std::string LockFileOf(const std::string& directory) {
  return directory + "/LOCK";
}

// Of the files of another Env this finds nothing, and says nothing.
bool Forbidden(const std::string& path, int how) {
  return faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) != 0 &&
         (errno == EACCES || errno == EPERM || errno == EROFS);
}

}  // namespace

Status CheckMayRead(const std::string& path) {
  return Forbidden(path, R_OK)
             ? Status::IOError("rocksync: cannot read " + path, kWhoMay)
             : Status::OK();
}

Status CheckMayWrite(const std::string& path) {
  return Forbidden(path, W_OK)
             ? Status::IOError("rocksync: cannot write " + path, kWhoMay)
             : Status::OK();
}

Status DirectoryLock::Take(rocksdb::Env* env, const std::string& directory,
                           std::unique_ptr<DirectoryLock>* lock) {
  lock->reset(new DirectoryLock(env));
  const std::string name = LockFileOf(directory);
  Status status = CheckMayWrite(name);
  if (status.ok()) {
    status = env->LockFile(name, &(*lock)->lock_);
    if (status.ok()) return status;
    status = Status::IOError(
        directory, (IsLockHeld(status) ? "is in use, stop its program first: "
                                       : "cannot be locked: ") +
                       status.ToString());
  }
  lock->reset();
  return status;
}

DirectoryLock::~DirectoryLock() {
  if (lock_ != nullptr) env_->UnlockFile(lock_).PermitUncheckedError();
}

Status CheckFreeToWrite(rocksdb::Env* env, const std::string& directory) {
  Status status = CheckMayWrite(LockFileOf(directory));
  if (status.ok()) status = CheckMayWrite(directory + "/");
  std::unique_ptr<DirectoryLock> lock;
  return status.ok() ? DirectoryLock::Take(env, directory, &lock) : status;
}

}  // namespace rocksync

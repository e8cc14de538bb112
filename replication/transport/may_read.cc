#include "replication/transport/may_read.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>

#include "replication/transport/certificates_lock.h"

namespace rocksync {
namespace {

std::string UserName() {
  char text[4096];
  struct passwd entry = {};
  struct passwd* found = nullptr;
  const uid_t user = ::geteuid();
  ::getpwuid_r(user, &entry, text, sizeof text, &found);
  return found != nullptr ? found->pw_name : std::to_string(user);
}

std::string GroupName() {
  char text[4096];
  struct group entry = {};
  struct group* found = nullptr;
  const gid_t group = ::getegid();
  ::getgrgid_r(group, &entry, text, sizeof text, &found);
  return found != nullptr ? found->gr_name : std::to_string(group);
}

}  // namespace

rocksdb::Status CheckUserMayRead(const std::string& file) {
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0 ||
      errno != EACCES) {
    return rocksdb::Status::OK();
  }
  const std::string directory = DirectoryOf(file);
  const bool may_enter =
      ::faccessat(AT_FDCWD, directory.c_str(), X_OK, AT_EACCESS) == 0;
  const std::string& what = may_enter ? file : directory;
  const std::string group = GroupName();
  return rocksdb::Status::IOError(
      "cannot read " + file + ": permission denied",
      "let user " + UserName() + (may_enter ? " read it" : " enter " + what) +
          "; if group " + group + " is its own: chgrp " + group + " " + what +
          " && chmod " + (may_enter ? "640 " : "750 ") + what);
}

}  // namespace rocksync

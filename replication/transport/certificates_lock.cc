#include "replication/transport/certificates_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace rocksync {
namespace {

bool Lock(int fd) {
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

std::string FollowLink(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_symlink(path, error) || error) return path;
  const fs::path named = fs::canonical(path, error);
  return error ? path : named.string();
}

std::string DirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? "." : directory;
}

CertificatesLock::~CertificatesLock() {
  if (fd_ >= 0) ::close(fd_);
}

rocksdb::Status CertificatesLock::Acquire(const std::string& directory) {
  fd_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ >= 0 && Lock(fd_)) return rocksdb::Status::OK();
  if (fd_ >= 0 && errno == EBADF) {
    // NFS locks only files that are open for writing, which no directory is.
    ::close(fd_);
    const std::string file = directory + "/.lock";
    fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ >= 0 && Lock(fd_)) return rocksdb::Status::OK();
  }
  if (errno == ENOENT) {
    return rocksdb::Status::IOError(
        "the directory " + directory + " of the certificate files is not there",
        "make it first, with mkdir -p");
  }
  return rocksdb::Status::IOError("cannot lock directory " + directory,
                                  std::strerror(errno));
}

}  // namespace rocksync

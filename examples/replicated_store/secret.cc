#include "examples/replicated_store/secret.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rocksync/cluster_secret.h"

namespace rocksync {
namespace {

rocksdb::Status ErrorOf(const std::string& file) {
  return rocksdb::Status::IOError(file, std::strerror(errno));
}

// Writes a file that nobody has seen before it is complete; one that is there
// already stays.
rocksdb::Status WriteOnce(const std::string& file,
                          const ClusterSecret& secret) {
  const std::string draft = file + "." + std::to_string(::getpid());
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return ErrorOf(draft);
  const bool written = ::write(fd, secret.data(), secret.size()) ==
                       static_cast<ssize_t>(secret.size());
  rocksdb::Status status;
  if (!written || ::fsync(fd) != 0) status = ErrorOf(draft);
  ::close(fd);
  if (status.ok() && ::link(draft.c_str(), file.c_str()) != 0 &&
      errno != EEXIST) {
    status = ErrorOf(file);
  }
  ::unlink(draft.c_str());
  return status;
}

}  // namespace

rocksdb::Status MakeTrialSecret(const std::string& directory,
                                ClusterSecret* secret) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno != ENOENT) return ErrorOf(directory);
    return rocksdb::Status::IOError(
        "--certificates " + directory + " cannot be made",
        "make the directory above it first, with mkdir -p");
  }
  const std::string file = directory + "/trial-secret";
  if (::access(file.c_str(), F_OK) != 0) {
    ClusterSecret fresh;
    if (::getrandom(fresh.data(), fresh.size(), 0) !=
        static_cast<ssize_t>(fresh.size())) {
      return ErrorOf("getrandom");
    }
    const rocksdb::Status status = WriteOnce(file, fresh);
    if (!status.ok()) return status;
  }
  return ReadClusterSecret(file, secret);
}

}  // namespace rocksync

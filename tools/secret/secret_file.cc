#include "tools/secret/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "tools/secret/may_read.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// More than anybody takes for a secret: in hex it has 64, or 65.
constexpr size_t kMostBytes = 1024;

Status ErrorOf(const std::string& file) {
  const int error = errno;
  const std::string_view why = std::strerror(error);
  if (error != ENOENT) return Status::IOError(file, why);
  return Status::PathNotFound(
      "the file of the cluster's secret, " + file + ", is not there",
      "give by --secret the file that all replicas of the cluster have; for a "
      "new cluster make it once: head -c 32 /dev/urandom > FILE");
}

// Its first bytes, one more than the most at most: it may have no end. A pipe
// gives what it has.
Status ReadBeginning(const std::string& file, std::string* bytes) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrorOf(file);
  bytes->resize(kMostBytes + 1);
  size_t size = 0;
  ssize_t part = 1;
  while (part > 0 && size < bytes->size()) {
    part = ::read(fd, bytes->data() + size, bytes->size() - size);
    if (part > 0) size += static_cast<size_t>(part);
    if (part < 0 && errno == EINTR) part = 1;
  }
  const Status status = part < 0 ? ErrorOf(file) : Status::OK();
  ::close(fd);
  bytes->resize(size);
  return status;
}

}  // namespace

Status ReadSecretFile(const std::string& file,
                      std::array<uint8_t, 32>* secret) {
  std::string bytes;
  Status status = CheckUserMayRead(file);
  if (status.ok()) status = ReadBeginning(file, &bytes);
  if (!status.ok()) return status;
  if (bytes.size() != secret->size()) {
    const bool all = bytes.size() <= kMostBytes;
    return Status::InvalidArgument(
        file + " has " + (all ? "" : "more than ") +
            std::to_string(all ? bytes.size() : kMostBytes) + " bytes",
        "32 raw bytes are needed (not hex, no newline)");
  }
  std::copy(bytes.begin(), bytes.end(), secret->begin());
  return status;
}

bool IsOpenToAll(const std::string& file) {
  struct stat status = {};
  return !file.empty() && ::stat(file.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0;
}

}  // namespace rocksync

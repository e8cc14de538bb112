#include "rocksync/cluster_secret.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "replication/transport/may_read.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// The most bytes read, more than any file meant as a secret has: in hex it has
// 64 or 65.
constexpr size_t kMaxBytes = 1024;
constexpr int kPatience = 5000;  // milliseconds

Status ErrorOf(const std::string& file) {
  const int error = errno;
  const std::string_view why = std::strerror(error);
  if (error != ENOENT) return Status::IOError(file, why);
  return Status::PathNotFound(
      "the file of the cluster's secret, " + file + ", is not there",
      "give the file that all replicas of the cluster have; for a new cluster "
      "make it once: head -c 32 /dev/urandom > FILE");
}

// Reads what there is, at most `size` bytes; `*part` is 0 at the end. Waits for
// a pipe, but with a timeout, since it may have no writer.
Status ReadPart(const std::string& file, int fd, char* bytes, size_t size,
                size_t* part) {
  while (true) {
    struct pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
    const int polled = ::poll(&ready, 1, kPatience);
    if (polled == 0) {
      return Status::TimedOut(
          file + " is a pipe, and nothing came out of it for " +
              std::to_string(kPatience / 1000) + " s",
          "give a file, or see to who writes into the pipe");
    }
    const ssize_t got = polled < 0 ? -1 : ::read(fd, bytes, size);
    if (got >= 0) {
      *part = static_cast<size_t>(got);
      return Status::OK();
    }
    if (errno != EINTR && errno != EAGAIN) return ErrorOf(file);
  }
}

// Reads the first bytes of a file, at most kMaxBytes + 1, since it may have no
// end. Of a pipe it reads what comes.
Status ReadBeginning(const std::string& file, std::string* bytes) {
  // O_NONBLOCK, since opening a pipe would wait for a writer.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrorOf(file);
  bytes->resize(kMaxBytes + 1);
  size_t size = 0;
  size_t part = 1;
  Status status;
  while (status.ok() && part > 0 && size < bytes->size()) {
    status =
        ReadPart(file, fd, bytes->data() + size, bytes->size() - size, &part);
    if (status.ok()) size += part;
  }
  ::close(fd);
  bytes->resize(size);
  return status;
}

}  // namespace

Status ReadClusterSecret(const std::string& file,
                         std::array<uint8_t, 32>* secret) {
  if (file.empty()) {
    return Status::InvalidArgument(
        "the name of the file of the cluster's secret is empty",
        "give the file that all replicas of the cluster have");
  }
  std::string bytes;
  Status status = CheckUserMayRead(file);
  if (status.ok()) status = ReadBeginning(file, &bytes);
  if (!status.ok()) return status;
  if (bytes.size() != secret->size()) {
    const bool all = bytes.size() <= kMaxBytes;
    return Status::InvalidArgument(
        file + " has " + (all ? "" : "more than ") +
            std::to_string(all ? bytes.size() : kMaxBytes) + " bytes",
        "32 raw bytes are needed (not hex, no newline)");
  }
  std::copy(bytes.begin(), bytes.end(), secret->begin());
  return status;
}

}  // namespace rocksync

// A lock by which one writer at a time works in a directory of certificates and
// keys.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATES_LOCK_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATES_LOCK_H_

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Returns the path of the file that a symbolic link names, or `path` itself if
// it is no link.
std::string FollowLink(const std::string& path);

// Returns the directory of a file; "." if the path names none.
std::string DirectoryOf(const std::string& path);

// Holds the lock from Acquire until it is destroyed or the process ends.
class CertificatesLock {
 public:
  CertificatesLock() = default;
  ~CertificatesLock();
  CertificatesLock(const CertificatesLock&) = delete;
  CertificatesLock& operator=(const CertificatesLock&) = delete;

  // Takes the lock, and waits for other threads and processes that hold it. To
  // be called once. IOError names the directory.
  rocksdb::Status Acquire(const std::string& directory);

 private:
  int fd_ = -1;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATES_LOCK_H_

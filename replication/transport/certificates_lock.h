// One writer at a time in a directory of certificates and keys.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATES_LOCK_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATES_LOCK_H_

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// The path of the file that a symbolic link names; else `path` itself.
std::string FollowLink(const std::string& path);

// The directory of a file; "." if the path names none.
std::string DirectoryOf(const std::string& path);

// Held until it is destroyed, or until the process ends.
class CertificatesLock {
 public:
  CertificatesLock() = default;
  ~CertificatesLock();
  CertificatesLock(const CertificatesLock&) = delete;
  CertificatesLock& operator=(const CertificatesLock&) = delete;

  // Once. Waits for other threads and processes that hold it. IOError names the
  // directory.
  rocksdb::Status Acquire(const std::string& directory);

 private:
  int fd_ = -1;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_CERTIFICATES_LOCK_H_

// Files that only one user should read.

#ifndef ROCKSYNC_TOOLS_SECRET_OPEN_TO_ALL_H_
#define ROCKSYNC_TOOLS_SECRET_OPEN_TO_ALL_H_

#include <sys/stat.h>

#include <string>

namespace rocksync {

// Whether every user of this machine may read the file, of a secret or a
// private key. False if it is not there, or no regular file.
inline bool IsOpenToAll(const std::string& file) {
  struct stat status = {};
  return !file.empty() && ::stat(file.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_SECRET_OPEN_TO_ALL_H_

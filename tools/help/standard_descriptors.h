// What a program does before it opens anything.

#ifndef ROCKSYNC_TOOLS_HELP_STANDARD_DESCRIPTORS_H_
#define ROCKSYNC_TOOLS_HELP_STANDARD_DESCRIPTORS_H_

#include <fcntl.h>
#include <unistd.h>

namespace rocksync {

// Those of stdin, stdout and stderr that are closed, as some that start
// programs leave them, are opened on /dev/null. Else the next file that is
// opened, one of a database, gets such a number, and takes what is printed.
inline void OpenStandardDescriptors() {
  int opened = ::open("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO) {
    opened = ::open("/dev/null", O_RDWR);
  }
  if (opened > STDERR_FILENO) ::close(opened);
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_HELP_STANDARD_DESCRIPTORS_H_

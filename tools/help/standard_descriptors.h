// What a program does before it opens anything.

#ifndef ROCKSYNC_TOOLS_HELP_STANDARD_DESCRIPTORS_H_
#define ROCKSYNC_TOOLS_HELP_STANDARD_DESCRIPTORS_H_

#include <fcntl.h>
#include <unistd.h>

namespace rocksync {

// Those of stdin, stdout and stderr that are closed, as some that start
// programs leave them, are opened on a device: stdout on `for_output`, to which
// what is printed is lost (/dev/null), or cannot be written (/dev/full). Else
// the next file that is opened, one of a database, gets such a number, and
// takes what is printed.
inline void OpenStandardDescriptors(const char* for_output) {
  for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; ++wanted) {
    if (::fcntl(wanted, F_GETFD) >= 0) continue;
    // The lowest number that is free, which is this one.
    (void)::open(wanted == STDOUT_FILENO ? for_output : "/dev/null", O_RDWR);
  }
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_HELP_STANDARD_DESCRIPTORS_H_

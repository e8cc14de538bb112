// How many files a server may open for its clients.

#ifndef ROCKSYNC_TOOLS_HTTP_OPEN_FILES_H_
#define ROCKSYNC_TOOLS_HTTP_OPEN_FILES_H_

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rocksync {

// A quarter of the files that the process may open now, at least 2; SIZE_MAX if
// the system does not say. RocksDB takes no writes any more once it cannot open
// a file, so the rest is left to others.
inline size_t QuarterOfOpenFiles() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return SIZE_MAX;
  return std::max<size_t>(2, static_cast<size_t>(files.rlim_cur) / 4);
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_HTTP_OPEN_FILES_H_

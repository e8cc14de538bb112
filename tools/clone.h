// `rocksync clone`: a new replica as a copy of a running one.

#ifndef ROCKSYNC_TOOLS_CLONE_H_
#define ROCKSYNC_TOOLS_CLONE_H_

#include <cstddef>
#include <iosfwd>
#include <string>

#include "tools/credentials.h"

namespace rocksync {

struct CloneToolOptions {
  std::string source;     // host:port
  std::string directory;  // of the new replica
  size_t connections = 4;
  bool json = false;
  Credentials credentials;
};

// 0: the clone is there and proven equal; 1: it is there, and not proven equal;
// 2: error.
int RunClone(const CloneToolOptions& options, std::ostream& out,
             std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_CLONE_H_

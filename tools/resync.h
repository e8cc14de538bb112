// `rocksync resync`: a stopped replica brought up to date by a copy of a
// running one.

#ifndef ROCKSYNC_TOOLS_RESYNC_H_
#define ROCKSYNC_TOOLS_RESYNC_H_

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "rocksync/clone.h"
#include "tools/credentials.h"

namespace rocksync {

struct ResyncToolOptions {
  std::string source;     // host:port
  std::string directory;  // of the replica
  size_t connections = 4;
  double copy_from_share = ResyncOptions().copy_from_share;
  // "DIR=LOGDIR" each, see offline_db.h.
  std::vector<std::string> wal_dirs = {};
  bool json = false;
  Credentials credentials;
};

// 0: the replica is up to date and proven equal; 1: it is up to date, and not
// proven equal; 2: error.
int RunResync(const ResyncToolOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_RESYNC_H_

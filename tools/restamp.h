// rocksync restamp DIR: the remedy on a replica whose clock had jumped ahead.

#ifndef ROCKSYNC_TOOLS_RESTAMP_H_
#define ROCKSYNC_TOOLS_RESTAMP_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/credentials.h"

namespace rocksync {

struct RestampToolOptions {
  std::string directory;
  Credentials credentials;  // cluster and secret
  uint64_t max_ahead_ms = 60'000;
  // "DIR=LOGDIR" each: where the log of a directory is, if its own files do not
  // say (offline_db.h).
  std::vector<std::string> wal_dirs = {};
};

// ReplicatedDB::Restamp on a database that nobody has open. Correct the
// machine's clock first. Comparators are found as `rocksync detach` finds them.
// Returns 0, or 2 with the reason on `err`.
int RunRestamp(const RestampToolOptions& options, std::ostream& out,
               std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_RESTAMP_H_

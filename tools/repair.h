// rocksync repair DIR COPY: what can be read of a damaged replica.

#ifndef ROCKSYNC_TOOLS_REPAIR_H_
#define ROCKSYNC_TOOLS_REPAIR_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace rocksync {

struct RepairToolOptions {
  std::string directory;
  std::string copy;  // is not there yet
  // "DIR=LOGDIR" each: where the log of a directory is, if it is not in it
  // (offline_db.h).
  std::vector<std::string> wal_dirs = {};
};

// See offline/repair.h. Says what to do with the copy. Returns 0; 1 if
// anything was left out; 2 with the reason on `err`, and there is no copy.
int RunRepair(const RepairToolOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_REPAIR_H_

// rocksync id DIR: the replica id of an offline database.

#ifndef ROCKSYNC_TOOLS_ID_H_
#define ROCKSYNC_TOOLS_ID_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace rocksync {

struct IdOptions {
  std::string directory;
  // "DIR=LOGDIR" each, see offline_db.h.
  std::vector<std::string> wal_dirs = {};
};

// Prints the id, 16 hex digits, as certificates and member lists name it.
// Writes nothing to the database. Returns 0, or 2 with the reason on `err`.
int RunId(const IdOptions& options, std::ostream& out, std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_ID_H_

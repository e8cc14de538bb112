// rocksync id DIR: the replica id of an offline database, or of one to come.

#ifndef ROCKSYNC_TOOLS_ID_H_
#define ROCKSYNC_TOOLS_ID_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync {

struct IdOptions {
  std::string directory;
  // "DIR=LOGDIR" each, see offline_db.h.
  std::vector<std::string> wal_dirs = {};
  // Where there is no replica, makes the id that the first opening gives it: in
  // a plain database, an empty directory, or one that it makes.
  bool make = false;
};

// The id of the offline replica in a directory; an error says why there is
// none.
rocksdb::Status ReadReplicaId(const std::string& directory,
                              const std::vector<std::string>& wal_dirs,
                              uint64_t* id);

// Prints the id, 16 hex digits, as certificates and member lists name it.
// Writes nothing to a database. Returns 0, or 2 with the reason on `err`.
int RunId(const IdOptions& options, std::ostream& out, std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_ID_H_

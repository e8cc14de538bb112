// rocksync detach DIR: takes the index out of a database.

#ifndef ROCKSYNC_TOOLS_DETACH_H_
#define ROCKSYNC_TOOLS_DETACH_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace rocksync {

// Leaves a plain database: the index family is dropped, data are not touched.
// Comparators and merge operators are those of the database's own OPTIONS file,
// as far as RocksDB knows them by name; a database with others that it needs is
// detached by its application with ReplicatedDB::Detach. Returns 0, or 2 with
// the reason on `err`.
struct DetachOptions {
  std::string directory;
  // "DIR=LOGDIR" each: where the log of a directory is, if its own files do not
  // say (offline_db.h).
  std::vector<std::string> wal_dirs = {};
};

int RunDetach(const DetachOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_DETACH_H_

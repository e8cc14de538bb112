// What an opening refuses by what is in the database, found while that is open
// for reading only. RocksDB writes when it opens a database for writing: it
// begins a MANIFEST and flushes what was in the log, after which nobody can
// tell that the last close was a clean one. It takes as long as an opening, so
// an opening with the options of the last time does without.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_LOOK_AHEAD_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_LOOK_AHEAD_H_

#include <string>
#include <vector>

#include "replication/store/open/provenance.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

struct BeforeLooking {
  const std::string& manifest;            // what CURRENT holds
  const std::vector<std::string>& names;  // of the families that are there, the
                                          // index among them
  bool cloned = false;      // the directory is a clone's, never opened
  Loss loss = Loss::kNone;  // what is known to be lost
};

struct LookedAt {
  // OK: the opening may go on, which looks again with RocksDB's lock held. Also
  // if the database is in use or cannot be read: the opening says that.
  rocksdb::Status status;
  Provenance provenance = Provenance::kOwn;
};

// What stands for the options and the identity with which `name` is opened: 16
// bytes. With those of the last opening nothing of the below is refused.
std::string OpenedAs(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Writes nothing, but makes the file LOCK if it is not there. Reads the log.
LookedAt LookAhead(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name, const BeforeLooking& before,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOOK_AHEAD_H_

// Checks what an opening refuses because of what is in the database, while that
// is open for reading only. RocksDB writes when it opens a database for
// writing: it begins a MANIFEST and flushes what was in the log, after which
// nobody can tell that the last close was a clean one, and removes the log. The
// check takes as long as reading the log, and little memory.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_PREFLIGHT_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_PREFLIGHT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "replication/store/format/dropped_batches.h"
#include "replication/store/open/provenance.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

struct PreflightInput {
  const std::string& manifest;            // what CURRENT holds
  const std::vector<std::string>& names;  // of the families that are there, the
                                          // index among them
  bool cloned = false;      // the directory is a clone's, never opened
  Loss loss = Loss::kNone;  // what is known to be lost
};

struct PreflightResult {
  // OK: the opening may go on, and checks again with RocksDB's lock held. Also
  // OK if the database is in use or cannot be opened, which the opening
  // reports; corruption of files is reported here.
  rocksdb::Status status;
  Provenance provenance = Provenance::kOwn;
  // Sound batches that RocksDB will not replay, as they are behind a damaged
  // place of the log; 0 for a log that was read and is sound. Empty after a
  // clean close, as its log is compared.
  DroppedBatches dropped;
};

// Checks the database `name`. Writes nothing, but makes the file LOCK if it is
// not there. Reads the log.
PreflightResult PreflightOpen(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name, const PreflightInput& before,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_PREFLIGHT_H_

// Reads what is in a database's directory before RocksDB opens it, and refuses
// what must not be opened. Writes nothing but what is left to do of an
// interrupted resync, the log's directory of a new database, and the file LOCK.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_STATE_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replication/store/format/clone_record.h"
#include "replication/store/format/dropped_batches.h"
#include "replication/store/open/predecessor.h"
#include "replication/store/open/provenance.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

struct DirectoryState {
  std::string directory;  // absolute
  std::string wal_dir;    // absolute
  bool has_database = false;
  std::string manifest;              // the content of CURRENT
  std::vector<std::string> names;    // of all column families
  bool has_index = false;            // the index's family is there
  ProvenanceFacts traces;            // as far as known without RocksDB
  std::optional<CloneRecord> clone;  // of a clone that was never opened
  DroppedBatches dropped;            // by this opening: see PreflightResult
};

// Reads the state of the directory `name` into `*around`. Errors are those of
// ReplicatedDB::Open that need no open database.
rocksdb::Status ReadDirectoryState(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name, const Predecessor* predecessor,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    DirectoryState* around);

// Reads the present marker into `*traces`; nullopt if there is none. Returns
// the error of a damaged one.
rocksdb::Status LookForMarker(rocksdb::Env* env, const std::string& name,
                              ProvenanceFacts* traces);

// Checks for all else that is known to be refused. The state can change until
// RocksDB has its lock, so the opening checks again. Notes in `*around` what
// RocksDB will leave out of the log.
rocksdb::Status CheckBeforeWriting(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    DirectoryState* around);

// Chooses the id of a database that becomes a replica: the one that is intended
// for it here (intended_id.h), the one that the options give, or random bits.
// The options' id counts only if the database never was a replica (`first`):
// peers know what was one before, and would refuse that id. Returns
// InvalidArgument if the two ids differ.
rocksdb::Status NewReplicaId(rocksdb::Env* env,
                             const ReplicatedDBOptions& replication,
                             const std::string& name, bool first, uint64_t* id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_STATE_H_

// What is in the directory of a database before RocksDB opens it, and what of
// that refuses the opening. Nothing is written here, but what is left to do of
// an interrupted resync.

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
  std::string manifest;              // what CURRENT holds
  std::vector<std::string> names;    // of all families
  bool has_index = false;            // the family
  ProvenanceFacts traces;            // as far as they show without RocksDB
  std::optional<CloneRecord> clone;  // of a clone that was never opened
  DroppedBatches dropped;            // by the opening: see PreflightResult
};

// Errors are those of ReplicatedDB::Open that need no open database.
rocksdb::Status ReadDirectoryState(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name, const Predecessor* predecessor,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    DirectoryState* around);

// The marker that is there now; of a damaged one the error.
rocksdb::Status LookForMarker(rocksdb::Env* env, const std::string& name,
                              ProvenanceFacts* traces);

// What else can be known to be refused. It can change until RocksDB has its
// lock, so the opening looks again. Notes what RocksDB will leave out of the
// log.
rocksdb::Status CheckBeforeWriting(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    DirectoryState* around);

// The id of what becomes a replica: the one that is intended for it here
// (intended_id.h), that the options give, or random bits. `first`: it never was
// a replica. Peers know what was one before, and would refuse the options' id.
// InvalidArgument: the two differ.
rocksdb::Status NewReplicaId(rocksdb::Env* env,
                             const ReplicatedDBOptions& replication,
                             const std::string& name, bool first, uint64_t* id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DIRECTORY_STATE_H_

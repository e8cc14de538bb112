// Judges where the data of a directory come from, as far as they tell: left so
// by their last opening, copied, put back, repaired, or without the index that
// they should have. Pure; opening.cc finds the facts.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_PROVENANCE_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_PROVENANCE_H_

#include <optional>
#include <string>

#include "replication/store/format/marker.h"
#include "replication/store/open/files_left.h"
#include "rocksdb/status.h"
#include "rocksync/options.h"

namespace rocksync {

enum class Provenance {
  kPlain,      // no index, and none is due
  kOwn,        // as the last opening left it
  kIndexLost,  // an index is due, and is not there or lacks its records
  kCopy,       // a checkpoint or restored backup: it has no marker
  kPutBack,    // another state than was left: an older one, or its log is lost
  kRepaired,   // RocksDB's RepairDB ran, or its identity file is gone
};

struct ProvenanceFacts {
  std::optional<Marker> marker;
  bool has_index = false;       // the family, with anything in it
  bool index_complete = false;  // with all records that an opening writes
  std::string mark;             // the index's; empty: none
  bool same_db_identity = true;
  Loss loss = Loss::kNone;  // of the files that were left
};

Provenance Judge(const ProvenanceFacts& traces);

// Returns the error for a database that is neither plain nor its own. The
// remedy is an option of ReplicatedDBOptions.
rocksdb::Status Refusal(Provenance provenance, const std::string& name);

// Returns the refusal, unless an option allows for it, or the data are `cloned`
// and have their index.
rocksdb::Status CheckProvenance(Provenance provenance,
                                const ReplicatedDBOptions& replication,
                                bool cloned, const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_PROVENANCE_H_

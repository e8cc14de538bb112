// What an opening has found out before there is a store (opening.h).

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_OPENED_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_OPENED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "replication/membership/tombstone_gc.h"
#include "replication/store/directory/directory_claim.h"
#include "replication/store/format/leaf_records.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/hash_completion.h"
#include "replication/store/index/leaf_digests.h"
#include "replication/store/upkeep/file_watch.h"
#include "replication/store/write/indexed_db.h"

namespace rocksync {

struct Opened {
  IndexedDB::Parts indexed;
  std::vector<Family> families;  // the replicated ones
  std::vector<Family> other_families;
  std::vector<FamilyRecord> family_records;  // of the replicated ones
  std::shared_ptr<HashCompletionFactory> completion;
  PlaceRecord place;
  Marker marker;  // as it is now
  std::unique_ptr<DirectoryClaim> claim;
  WorkRecord work;
  std::vector<ForeignRange> foreign;  // of a re-check that is not done
  std::shared_ptr<FileWatch> files;   // a listener of the database
  GcState gc;
  uint64_t swept = 0;  // the stable time of the last finished sweep
  std::unique_ptr<LeafDigests::Leaves> leaves;  // null: to be computed
  LeafDigests::Tombstones tombstones;           // valid if `leaves` is set
  LeafQuarantined quarantined;
  // Batches that RocksDB dropped behind a damaged place of the log, in this
  // opening and those that kDroppedBatchesFileName tells of.
  uint64_t log_batches_dropped = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_OPENED_H_

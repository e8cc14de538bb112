// The plan by which the store writes an application's WriteBatch: the same
// operations on the data, then the index entries.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_PLAN_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_PLAN_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/stripe_locks.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "rocksdb/write_batch.h"
#include "rocksync/options.h"
#include "sketch/element/element.h"

namespace rocksync {

// One operation. Its slices point into the application's batch.
struct PlannedOperation {
  enum class Kind : uint8_t { kPut, kDelete, kMerge, kDeleteRange };
  Kind kind = Kind::kPut;
  uint32_t family_id = 0;
  rocksdb::Slice key;     // kDeleteRange: begin
  rocksdb::Slice value;   // kDeleteRange: end
  uint64_t position = 0;  // of key; not for kDeleteRange
};

struct PlannedBatch {
  // The operations on replicated families. Most batches have one, for which
  // nothing is allocated.
  absl::InlinedVector<PlannedOperation, 1> operations;
  StripeSet stripes;
  // The data operations can be written as they are.
  bool verbatim = true;
  bool has_range = false;
  // An operation is on a family that the library does not know: it was dropped,
  // or created by a foreign call.
  bool has_unknown = false;
};

// Plans the write of a batch. `batch` must outlive the plan. Returns
// InvalidArgument if a key or value is too large.
rocksdb::Status PlanBatch(const ReplicatedDBOptions& options,
                          const rocksdb::WriteBatch& batch,
                          const FamilyTable& families,
                          const ElementHasher& hasher, PlannedBatch* plan);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_WRITE_PLAN_H_

// Writes of the application (see indexed_db.h for the steps of one).

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_WRITER_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_WRITER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replication/store/index/family_table.h"
#include "replication/store/index/shown_families.h"
#include "replication/store/index/stripe_locks.h"
#include "replication/store/write/families.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

struct PlannedBatch;

// Writes data and index together. Thread-safe.
class Writer {
 public:
  Writer(IndexedDB* indexed, const Families* families)
      : indexed_(indexed), families_(families) {}

  rocksdb::Status WriteOne(const rocksdb::WriteOptions& options,
                           rocksdb::ColumnFamilyHandle* handle,
                           const rocksdb::Slice& key,
                           const rocksdb::Slice* value);  // null: delete
  rocksdb::Status WriteMany(const rocksdb::WriteOptions& options,
                            rocksdb::WriteBatch* batch);
  // Writes a batch as WriteMany does. REQUIRES: the stripes of all keys are
  // held, and the batch has no range.
  rocksdb::Status WriteLocked(const rocksdb::WriteOptions& options,
                              const rocksdb::WriteBatch& batch);

 private:
  // `wall_ms`: one reading of the wall clock is used for a whole write, as a
  // reading costs about as much as the stripe's lock.
  rocksdb::Status CheckBatch(const rocksdb::WriteOptions& options,
                             uint64_t wall_ms, const rocksdb::WriteBatch& batch,
                             PlannedBatch* plan);
  // `gives_up`: the one of the write's locks (NoSlowdownDeadline).
  // REQUIRES: the plan's stripes are held.
  rocksdb::Status CommitPlanned(const rocksdb::WriteOptions& options,
                                const std::function<bool()>& gives_up,
                                uint64_t wall_ms,
                                const rocksdb::WriteBatch& batch,
                                const PlannedBatch& plan);
  rocksdb::Status CommitOne(const rocksdb::WriteOptions& options,
                            uint64_t wall_ms, FamiliesInUse in_use,
                            rocksdb::ColumnFamilyHandle* handle,
                            uint32_t family_id, uint64_t position,
                            const rocksdb::Slice& key,
                            const rocksdb::Slice* value);
  rocksdb::Status CommitVerbatim(const rocksdb::WriteOptions& options,
                                 const rocksdb::WriteBatch& batch,
                                 const PlannedBatch& plan,
                                 const Version& version);
  rocksdb::Status CommitRewritten(const rocksdb::WriteOptions& options,
                                  const rocksdb::WriteBatch& batch,
                                  const PlannedBatch& plan,
                                  const Version& version);

  IndexedDB* const indexed_;
  const Families* const families_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_WRITER_H_

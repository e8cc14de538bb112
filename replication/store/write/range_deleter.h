// ReplicatedDB::DeleteRangeInChunks: deletes the keys of a range by several
// writes of bounded size.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_RANGE_DELETER_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_RANGE_DELETER_H_

#include <cstdint>

#include "replication/store/write/families.h"
#include "replication/store/write/indexed_db.h"
#include "replication/store/write/writer.h"
#include "rocksdb/db.h"

namespace rocksync {

// Deletes ranges. Thread-safe.
class RangeDeleter {
 public:
  // The arguments must outlive it.
  RangeDeleter(const IndexedDB* indexed, const Families* families,
               Writer* writer)
      : indexed_(indexed), families_(families), writer_(writer) {}

  rocksdb::Status DeleteInChunks(const rocksdb::WriteOptions& options,
                                 rocksdb::ColumnFamilyHandle* handle,
                                 const rocksdb::Slice& begin,
                                 const rocksdb::Slice& end, uint64_t* deleted);

 private:
  const IndexedDB* const indexed_;
  const Families* const families_;
  Writer* const writer_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_RANGE_DELETER_H_

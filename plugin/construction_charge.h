// Charges the memory of filters under construction to the block cache, where
// the table options ask for it.

#ifndef ROCKSYNC_PLUGIN_CONSTRUCTION_CHARGE_H_
#define ROCKSYNC_PLUGIN_CONSTRUCTION_CHARGE_H_

#include <cstddef>
#include <memory>

#include "rocksdb/table.h"

namespace rocksdb {
class WriteBufferManager;
}

namespace rocksync {

// The charge of one builder; not safe to share. RocksDB's own means of
// reserving cache is internal, so this goes through a private
// WriteBufferManager, the public class that does the same; hence the cache's
// statistics show it among the write buffers' entries rather than as filter
// construction. Like the built-in filters', a charge that a full cache refuses
// is forgone, not an error.
class ConstructionCharge {
 public:
  // Charges nothing if the options do not ask for it or there is no cache.
  explicit ConstructionCharge(const rocksdb::BlockBasedTableOptions& options);
  ~ConstructionCharge();
  ConstructionCharge(const ConstructionCharge&) = delete;
  ConstructionCharge& operator=(const ConstructionCharge&) = delete;

  // Sets the charge to `bytes`. Cheap if that has not changed.
  void Set(size_t bytes);

 private:
  std::unique_ptr<rocksdb::WriteBufferManager> reservation_;
  size_t charged_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_CONSTRUCTION_CHARGE_H_

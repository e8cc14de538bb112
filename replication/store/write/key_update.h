// ReplicatedDB::Update: a function of the application changes the values of
// some keys while no other write to them can happen.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_KEY_UPDATE_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_KEY_UPDATE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replication/store/index/stripe_locks.h"
#include "replication/store/write/families.h"
#include "replication/store/write/indexed_db.h"
#include "replication/store/write/writer.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

using UpdateFunction = std::function<rocksdb::Status(
    std::vector<std::optional<std::string>>* values)>;

// Runs updates. Thread-safe.
class KeyUpdate {
 public:
  // The arguments must outlive it.
  KeyUpdate(IndexedDB* indexed, const Families* families, Writer* writer)
      : indexed_(indexed), families_(families), writer_(writer) {}

  rocksdb::Status Run(const rocksdb::WriteOptions& options,
                      const std::vector<UpdatedKey>& keys,
                      const UpdateFunction& change);

 private:
  // Refuses keys that cannot be updated together. `*stripes` gets their
  // stripes.
  rocksdb::Status CheckKeys(const std::vector<UpdatedKey>& keys,
                            StripeSet* stripes) const;
  // REQUIRES: the stripes are held.
  rocksdb::Status ReadBefore(
      const std::vector<UpdatedKey>& keys,
      std::vector<std::optional<std::string>>* before) const;
  // REQUIRES: the stripes are held.
  rocksdb::Status WriteChanged(
      const rocksdb::WriteOptions& options, const std::vector<UpdatedKey>& keys,
      const std::vector<std::optional<std::string>>& before,
      const std::vector<std::optional<std::string>>& after);

  IndexedDB* const indexed_;
  const Families* const families_;
  Writer* const writer_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_KEY_UPDATE_H_

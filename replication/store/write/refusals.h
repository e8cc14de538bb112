// Options of RocksDB that replication cannot live with, refused at open with a
// message that names the option and the remedy.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Whether the options name `family` as replicated.
bool IsReplicatedName(const ReplicatedDBOptions& options,
                      const std::string& family);

rocksdb::Status CheckReplicationOptions(const ReplicatedDBOptions& options);
rocksdb::Status CheckDBOptions(const rocksdb::DBOptions& options);
rocksdb::Status CheckFamilyOptions(const ReplicatedDBOptions& replication,
                                   const std::string& family,
                                   const rocksdb::ColumnFamilyOptions& options);

// Of the families that are to be opened: each is named once.
rocksdb::Status CheckNamedOnce(
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// A cluster's replicas tell each other the names of all of them.
rocksdb::Status CheckFamilyCount(size_t replicated);

// What a write to a replicated family may put.
rocksdb::Status CheckSizes(const ReplicatedDBOptions& options,
                           const std::string& family, const rocksdb::Slice& key,
                           size_t value_bytes);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_

// Options of RocksDB that replication cannot live with, refused at open with a
// message that names the option and the remedy.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Whether the options name `family` as replicated.
bool IsReplicatedName(const ReplicatedDBOptions& options,
                      const std::string& family);

// InvalidArgument: it is empty. RocksDB makes such a family, and its assertions
// end each process that flushes it.
rocksdb::Status CheckFamilyName(const std::string& name);

// All that an opening refuses of its arguments alone.
rocksdb::Status CheckOpenArguments(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

rocksdb::Status CheckFamilyOptions(const rocksdb::DBOptions& db_options,
                                   const ReplicatedDBOptions& replication,
                                   const std::string& family,
                                   const rocksdb::ColumnFamilyOptions& options);

// What Open would refuse of a family, `current`, after SetOptions(`changes`),
// which does not refuse it itself. What does not parse is OK, as RocksDB
// refuses it in its own words. Changes none of the objects that `current` has.
rocksdb::Status CheckChangedOptions(
    const ReplicatedDBOptions& replication, const std::string& family,
    const rocksdb::DBOptions& db_options, rocksdb::ColumnFamilyOptions current,
    std::unordered_map<std::string, std::string> changes);

// A cluster's replicas tell each other the names of all of them.
rocksdb::Status CheckFamilyCount(size_t replicated);

// NotSupported: WriteOptions that a write to a replicated family cannot have.
rocksdb::Status CheckWriteOptions(const rocksdb::WriteOptions& options);

// InvalidArgument, of a write that waited for a lock meanwhile.
rocksdb::Status FamilyIsGone();

// What a write to a replicated family may put.
rocksdb::Status CheckSizes(const ReplicatedDBOptions& options,
                           const std::string& family, const rocksdb::Slice& key,
                           size_t value_bytes);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_

// Refuses, at open, options of RocksDB that replication does not support, with
// a message that names the option and the remedy.

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

// Returns InvalidArgument if the name is empty. RocksDB creates such a family,
// but its assertions end each process that flushes it.
rocksdb::Status CheckFamilyName(const std::string& name);

// Checks everything that an opening can refuse by its arguments alone.
rocksdb::Status CheckOpenArguments(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

rocksdb::Status CheckFamilyOptions(const rocksdb::DBOptions& db_options,
                                   const ReplicatedDBOptions& replication,
                                   const std::string& family,
                                   const rocksdb::ColumnFamilyOptions& options);

// Checks whether Open would refuse the family, with options `current`, after
// SetOptions(`changes`); RocksDB itself would not. Returns OK if `changes` do
// not parse, as RocksDB refuses that in its own words. Changes none of the
// objects of `current`.
rocksdb::Status CheckChangedOptions(
    const ReplicatedDBOptions& replication, const std::string& family,
    const rocksdb::DBOptions& db_options, rocksdb::ColumnFamilyOptions current,
    std::unordered_map<std::string, std::string> changes);

// Limits the number of families: replicas of a cluster tell each other all
// names.
rocksdb::Status CheckFamilyCount(size_t replicated);

// Returns NotSupported for WriteOptions that a write to a replicated family
// cannot have.
rocksdb::Status CheckWriteOptions(const rocksdb::WriteOptions& options);

// Returns InvalidArgument for a write whose family was dropped while it waited
// for a lock.
rocksdb::Status FamilyIsGone();

// Checks the size of what a write to a replicated family puts.
rocksdb::Status CheckSizes(const ReplicatedDBOptions& options,
                           const std::string& family, const rocksdb::Slice& key,
                           size_t value_bytes);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_REFUSALS_H_

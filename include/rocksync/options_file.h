// RocksDB's OPTIONS files of a replicated database. They name the index beside
// the application's families; these leave it out, or add it, as needed.

#ifndef ROCKSYNC_OPTIONS_FILE_H_
#define ROCKSYNC_OPTIONS_FILE_H_

#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace rocksync {

// As rocksdb::LoadLatestOptions, without the index: what ReplicatedDB::Open
// takes. Works with and without ConfigOptions::ignore_unknown_options, for a
// plain database, too.
rocksdb::Status LoadReplicatedOptions(
    const rocksdb::ConfigOptions& config, const std::string& name,
    rocksdb::DBOptions* options,
    std::vector<rocksdb::ColumnFamilyDescriptor>* families);

// As rocksdb::CheckOptionsCompatibility of the application's families, in the
// order of the file (that of their creation).
rocksdb::Status CheckReplicatedOptions(
    const rocksdb::ConfigOptions& config, const std::string& name,
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_OPTIONS_FILE_H_

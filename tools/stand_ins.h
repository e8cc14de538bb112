// Placeholders for an application's comparator and merge operator, which a
// command does not have. They let the index be read; families opened with one
// must not be.

#ifndef ROCKSYNC_TOOLS_STAND_INS_H_
#define ROCKSYNC_TOOLS_STAND_INS_H_

#include <memory>
#include <string>

#include "rocksdb/comparator.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace rocksync {

// Of the name by which RocksDB compares comparators.
std::unique_ptr<rocksdb::Comparator> StandInComparator(std::string name);

// Without any, RocksDB ends a log at the first Merge record.
void AddStandInMergeOperator(rocksdb::ColumnFamilyOptions* options);

// Returns the name of the comparator that a database has, if `status` says that
// it was not opened since another one was given; else an empty string.
std::string MissingComparator(const rocksdb::Status& status);

// Returns an error that names the comparator and what to do about it, if
// `status` says that it is missing; else `status`.
rocksdb::Status ExplainMissingComparator(const rocksdb::Status& status,
                                         const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_STAND_INS_H_

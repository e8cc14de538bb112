// In the place of what an application gives its families and a command does not
// have, so that the index can be read. What a family with a stand-in holds is
// not to be read: its order, and its merged values, are the application's.

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

// The comparator of a database that was not opened as another one was given;
// empty: it was not opened for another reason.
std::string ComparatorThatIsLacking(const rocksdb::Status& status);

// Adds to what RocksDB says of a comparator what to do about it.
rocksdb::Status NameLackingComparator(const rocksdb::Status& status,
                                      const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_STAND_INS_H_

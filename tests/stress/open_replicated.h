// How RocksDB's own tester (db_stress) opens its databases here: its sources
// are altered by patch_rocksdb_program.py to call these instead of RocksDB's.

#ifndef ROCKSYNC_TESTS_STRESS_OPEN_REPLICATED_H_
#define ROCKSYNC_TESTS_STRESS_OPEN_REPLICATED_H_

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/options.h"
#include "rocksync/replicated_db.h"  // kIndexFamilyName, for what is altered

namespace rocksync::stress {

// What every replica of the machine is opened with. `families`: those in which
// db_stress merges.
ReplicatedDBOptions ReplicationOptions(
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// As rocksdb::DB::Open, through ReplicatedDB. A restored backup, which
// db_stress opens beside the original, becomes a replica of its own.
rocksdb::Status Open(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles, rocksdb::DB** db);
rocksdb::Status Open(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db);

// As rocksdb::DB::ListColumnFamilies, without the index.
rocksdb::Status ListColumnFamilies(const rocksdb::DBOptions& options,
                                   const std::string& name,
                                   std::vector<std::string>* families);

}  // namespace rocksync::stress

#endif  // ROCKSYNC_TESTS_STRESS_OPEN_REPLICATED_H_

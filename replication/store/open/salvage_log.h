// Salvages the log of a database that is opened as a new replica after a loss.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_SALVAGE_LOG_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_SALVAGE_LOG_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Replays as much of the log of the database `name` as reads, into tables. Uses
// an opening of its own, so that the application's options need not have
// kSalvageRecovery, and RocksDB does not write that into the OPTIONS file, from
// which the application may take its options. Makes no missing families.
rocksdb::Status SalvageLog(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_SALVAGE_LOG_H_

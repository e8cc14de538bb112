// Opens a database with its index, between RocksDB's Open and a working store.
// Decides whether the index is this replica's or a copy's, who wrote last, and
// what has to be read again.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_OPENING_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_OPENING_H_

#include <string>
#include <vector>

#include "replication/store/open/opened.h"
#include "replication/store/open/predecessor.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Opens the database with its index. On success the caller owns
// `opened->indexed.db` (delete it last) and the handles. On error nothing stays
// open. `predecessor` is the replica that goes on in this copy of another one,
// or null; such a copy is never opened without it (ReplicatedDB::Resync).
rocksdb::Status OpenIndexed(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    const Predecessor* predecessor,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles, Opened* opened);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_OPENING_H_

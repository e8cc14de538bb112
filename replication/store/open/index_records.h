// The records that an index keeps of itself, as an opening reads and writes
// them.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_INDEX_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_INDEX_RECORDS_H_

#include <optional>
#include <string>

#include "replication/store/format/meta_records.h"
#include "replication/store/open/opened.h"
#include "replication/store/open/provenance.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Reads all of them into `opened`, `traces` and `seal` (none, if there is
// none). OK with `traces->index_complete` false: the index is not whole, and
// what was read means nothing. Refused: an index of another format, of another
// cluster, or of another secret. `name` is the database's.
rocksdb::Status ReadIndexRecords(rocksdb::DB* db,
                                 rocksdb::ColumnFamilyHandle* index,
                                 const ReplicatedDBOptions& replication,
                                 const std::string& name, Opened* opened,
                                 ProvenanceFacts* traces,
                                 std::optional<SealRecord>* seal);

// Writes them as `opened` has them, synced, and takes the seal away, in one
// batch.
rocksdb::Status WriteIndexRecords(rocksdb::DB* db,
                                  rocksdb::ColumnFamilyHandle* index,
                                  const ReplicatedDBOptions& replication,
                                  const Opened& opened);

// Takes the digests that were sealed with the entries into `opened`, unless
// some do not read: they can be had again from the entries.
void ReadSealedDigests(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
                       Opened* opened);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_INDEX_RECORDS_H_

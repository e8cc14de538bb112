// Reads and writes the records that an index keeps of itself, in an opening.

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

// Reads all records into `*opened`, `*traces` and `*seal` (nullopt if there is
// none). `name` is the database's. Returns OK with `traces->index_complete`
// false if the index is not whole; then what was read means nothing. Returns
// NotSupported for an index of another format, and InvalidArgument for one of
// another cluster or another secret.
rocksdb::Status ReadIndexRecords(rocksdb::DB* db,
                                 rocksdb::ColumnFamilyHandle* index,
                                 const ReplicatedDBOptions& replication,
                                 const std::string& name, Opened* opened,
                                 ProvenanceFacts* traces,
                                 std::optional<SealRecord>* seal);

// Writes the records as `opened` has them, synced, and removes the seal, in one
// batch.
rocksdb::Status WriteIndexRecords(rocksdb::DB* db,
                                  rocksdb::ColumnFamilyHandle* index,
                                  const ReplicatedDBOptions& replication,
                                  const Opened& opened);

// Reads the digests that were sealed with the entries into `*opened`, unless
// some do not read: they can be computed from the entries again.
void ReadSealedDigests(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
                       Opened* opened);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_INDEX_RECORDS_H_

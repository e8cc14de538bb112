// A MANIFEST that was cut short. RocksDB takes it for the state of an earlier
// time, and once it has opened the database it deletes the tables that this
// state does not have.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_MANIFEST_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_MANIFEST_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Whether the current MANIFEST of the database ends in the middle of a record,
// as damage leaves it, or a crash while it was written. Reads one block of it.
// False also if it cannot be read.
bool ManifestEndsWithinRecord(rocksdb::Env* env, const std::string& name);

// Of a database whose index is due (by its marker) and is not listed, or whose
// MANIFEST ends within a record: whether the MANIFEST is why the index is not
// there. Corruption: it is, or
// RocksDB reports corruption of its own; OK: it is not, as far as this can
// tell. Changes nothing. Opens the database for reading, which reads its log.
// `families`: options where the caller has them.
rocksdb::Status CheckManifest(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Of a database that is not in the state that it was left in: Corruption if a
// RepairDB that did not come to its end left a list without some of the tables.
// It leaves a folder `lost`, too.
rocksdb::Status CheckRepaired(rocksdb::DB* db, const std::string& name);

// The corruption of the MANIFEST, with the remedy; `why` goes behind both.
rocksdb::Status DamagedManifest(const std::string& name,
                                const std::string& why);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_MANIFEST_H_

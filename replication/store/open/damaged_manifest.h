// Detects a MANIFEST that was cut short. RocksDB takes it for the state of an
// earlier time and, once it has opened the database, deletes the tables that
// this state does not list.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_MANIFEST_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_MANIFEST_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Returns whether the current MANIFEST ends in the middle of a record, as after
// damage, or after a crash while it was written. Reads one block of it. Returns
// false also if it cannot be read.
bool ManifestEndsWithinRecord(rocksdb::Env* env, const std::string& name);

// Checks whether the MANIFEST is why the index is missing. The database's
// marker says that an index is due, and the index is not listed, or the
// MANIFEST ends within a record. Returns Corruption if the MANIFEST is the
// reason, or if RocksDB reports corruption; OK if it is not, as far as this can
// tell. Changes nothing. Opens the database for reading, which reads its log.
// `families` have the caller's options, where it has some.
rocksdb::Status CheckManifest(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Returns Corruption if a RepairDB that did not come to its end left a MANIFEST
// without some of the tables; a folder `lost` shows that it ran. For a database
// that is not in the state in which it was left.
rocksdb::Status CheckRepaired(rocksdb::DB* db, const std::string& name);

// Returns the error for a damaged MANIFEST, with the remedy and then `why`.
rocksdb::Status DamagedManifest(const std::string& name,
                                const std::string& why);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_DAMAGED_MANIFEST_H_

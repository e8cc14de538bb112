// Checks the families that the index knows: none of them may go by omission,
// and the index must still know what is in them.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_KNOWN_FAMILIES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_KNOWN_FAMILIES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "replication/store/index/index_reader.h"
#include "rocksdb/db.h"
#include "rocksync/options.h"

namespace rocksync {

// Returns InvalidArgument if a family that was replicated at the last opening
// is not replicated now, is not there, or is another one of the same name,
// unless discard_history_of names it. `handles` are those of `families`; `name`
// is the database's.
rocksdb::Status CheckKnownFamilies(
    const ReplicatedDBOptions& replication, const std::string& name,
    const std::vector<FamilyRecord>& known,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    const std::vector<rocksdb::ColumnFamilyHandle*>& handles);

struct MissingEntries {
  bool any = false;  // a pair of a family that was read to its end has none
  // Families of which the index has no entry at all, as options allow.
  std::set<uint32_t> lost_families;
};

// Reads the first pairs of each family and their entries. Returns Corruption if
// the index has no entry at all of a family, unless discard_history_of names it
// or adopt_after_index_loss is set. REQUIRES: there was no foreign write.
rocksdb::Status LookForMissingEntries(
    const ReplicatedDBOptions& replication, const std::string& name,
    const IndexReader& reader, const std::vector<FamilyRecord>& known,
    const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
    MissingEntries* missing);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_KNOWN_FAMILIES_H_

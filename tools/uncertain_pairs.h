// The uncertain pairs of an offline replica, those that no index entry
// confirms. They are in no digest, or not as what they are, so comparing
// replicas does not show them.

#ifndef ROCKSYNC_TOOLS_UNCERTAIN_PAIRS_H_
#define ROCKSYNC_TOOLS_UNCERTAIN_PAIRS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/offline/offline_replica.h"
#include "rocksdb/status.h"

namespace rocksync {

struct UncertainPairs {
  // By ordinal of the family and key, with what the index says of it; without
  // an entry, UnknownEntry().
  std::map<std::pair<uint32_t, std::string>, StoredEntry> pairs;
  // Of families whose data were not read to their end: which, and why. A pair
  // without an index entry may have been missed in them.
  std::vector<std::string> unread;
  // Wide-column entities, which are uncertain as well: how many, and the first.
  uint64_t entities = 0;
  rocksdb::Status entity;
};

// Reads all data and the whole index. A pair is uncertain if it has no index
// entry, or one that is quarantined, does not parse, is of a delete, or of
// another value; and so is a missing pair for which a quarantined entry stands.
// Memory: what is found.
rocksdb::Status FindUncertainPairs(const OfflineReplica& replica,
                                   UncertainPairs* found);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_UNCERTAIN_PAIRS_H_

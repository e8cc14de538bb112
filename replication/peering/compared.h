// With whom a replica was compared, and in which families.

#ifndef ROCKSYNC_REPLICATION_PEERING_COMPARED_H_
#define ROCKSYNC_REPLICATION_PEERING_COMPARED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync {

struct Compared {
  uint64_t peer_id = 0;               // 0: nothing was compared yet
  std::vector<std::string> families;  // names, by ordinal
};

// Takes `now`, if nothing was compared yet. TryAgain: it is something else than
// before, so that keys that were found to differ say nothing of it.
rocksdb::Status CompareWith(const Compared& now, Compared* compared);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_COMPARED_H_

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
  uint64_t link = 0;                  // number of the connection
  std::vector<std::string> families;  // names, by ordinal
  // By another connection meanwhile, before which anything may have become of
  // the peer's families: what was found before says nothing.
  bool reconnected = false;
};

// Takes `now`, if nothing was compared yet. TryAgain: it is something else than
// before, so that keys that were found to differ say nothing of it; if only the
// connection is another one, `reconnected` is set.
rocksdb::Status CompareWith(const Compared& now, Compared* compared);

// InvalidArgument names those of one side alone.
rocksdb::Status CheckSameFamilies(const std::vector<std::string>& here,
                                  const std::vector<std::string>& there);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_COMPARED_H_

#include "replication/replicator/connection_eviction.h"

#include <algorithm>
#include <map>

namespace rocksync {

size_t OldestOfMost(const std::vector<uint64_t>& replica_ids) {
  std::map<uint64_t, size_t> count;
  for (const uint64_t id : replica_ids) ++count[id];
  const uint64_t most = std::max_element(count.begin(), count.end(),
                                         [](const auto& a, const auto& b) {
                                           return a.second < b.second;
                                         })
                            ->first;
  return static_cast<size_t>(
      std::find(replica_ids.begin(), replica_ids.end(), most) -
      replica_ids.begin());
}

}  // namespace rocksync

// The text of INFO, in Redis' form: sections of "name:value" lines.

#ifndef EXAMPLES_REPLICATED_STORE_INFO_H_
#define EXAMPLES_REPLICATED_STORE_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "rocksync/stats.h"

namespace rocksync {

struct ServerInfo {
  uint64_t uptime_seconds = 0;
  uint64_t commands_processed = 0;
  uint64_t estimated_keys = 0;
};

// `section`: server, stats, replication, keyspace, in any case; empty, "all",
// "default" and "everything" mean all of them; others are empty. `replication`
// may be null: there is none.
//
// The replication section has every field of ReplicationStats under its own
// name, and for peer number i every field of PeerStats as "peer<i>_<name>" and
// of its latest session as "peer<i>_last_<name>". Replica ids are 16 hex
// digits.
std::string FormatInfo(std::string_view section, const ServerInfo& server,
                       const ReplicationStats* replication);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_INFO_H_

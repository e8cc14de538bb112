// What several running replicas answer when they are asked for their status at
// once.

#ifndef ROCKSYNC_TOOLS_ASK_REPLICAS_H_
#define ROCKSYNC_TOOLS_ASK_REPLICAS_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replication/admin/admin_client.h"
#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

// What came of asking one replica.
struct ReplicaAnswer {
  rocksdb::Status status;
  std::optional<ReplicationStats> stats;  // if `status` is OK
  double seconds = 0;                     // until it answered
};

// When to give up those that have not answered, besides `target.timeout`.
struct AskLimits {
  std::optional<std::chrono::milliseconds> time;  // for all of it
  std::function<bool()> stop;  // polled, may be empty: true ends it soon
};

// The answers of `replicas` (host:port of each) in their order. A replica that
// is given up has the status TimedOut, or Aborted after `stop`.
std::vector<ReplicaAnswer> AskReplicas(const AdminTarget& target,
                                       const std::vector<std::string>& replicas,
                                       const AskLimits& limits);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_ASK_REPLICAS_H_

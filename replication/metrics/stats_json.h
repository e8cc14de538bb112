// Statistics as JSON, for `rocksync status` and for applications.

#ifndef ROCKSYNC_REPLICATION_METRICS_STATS_JSON_H_
#define ROCKSYNC_REPLICATION_METRICS_STATS_JSON_H_

#include "replication/metrics/json.h"
#include "rocksync/stats.h"

namespace rocksync {

// Adds every field of `stats` to `*json`.
void AddStats(const ReplicationStats& stats, JsonObject* json);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_METRICS_STATS_JSON_H_

// Statistics, back from the JSON in which a running replica tells them.

#ifndef ROCKSYNC_TOOLS_STATS_FROM_JSON_H_
#define ROCKSYNC_TOOLS_STATS_FROM_JSON_H_

#include <string>

#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

// What StatsJson wrote, plus what else `rocksync status` tells. A field that is
// missing, as from an older replica, or is of another type counts as 0.
// Corruption, and `*stats` as it was: the text is no JSON object or names no
// replica id.
rocksdb::Status StatsFromJson(const std::string& text, ReplicationStats* stats);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_STATS_FROM_JSON_H_

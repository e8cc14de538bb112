// Statistics, back from the JSON in which a running replica tells them.

#ifndef ROCKSYNC_TOOLS_STATS_FROM_JSON_H_
#define ROCKSYNC_TOOLS_STATS_FROM_JSON_H_

#include <optional>
#include <string>

#include "rocksync/stats.h"

namespace rocksync {

// What StatsJson wrote, plus what else `rocksync status` tells. A field that is
// missing, as from an older replica, or is of another type counts as 0. Nothing
// if the text is no JSON object or names no replica id.
std::optional<ReplicationStats> StatsFromJson(const std::string& text);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_STATS_FROM_JSON_H_

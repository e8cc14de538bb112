// Reports for operators, as JSON.

#ifndef ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_
#define ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_

#include <vector>

#include "replication/clone/clone_source.h"
#include "replication/metrics/json.h"
#include "replication/peering/replicator_context.h"
#include "rocksync/stats.h"
#include "rocksync/verify.h"

namespace rocksync {

// Returns the statistics that Replicator::stats() and `rocksync status` show.
ReplicationStats StatsOf(const ReplicatorContext& replica,
                         const IndexBuildProgress& index,
                         const DiskSpaceStats& disk, const ScrubStats& scrub,
                         const TombstoneGcStats& gc);

// Returns what only the open database tells, and the clones that it serves.
JsonObject DatabaseReport(const ReplicatorContext& replica,
                          const std::vector<ServedClone>& served);

// Returns the status of this replica: DatabaseReport, and all of StatsOf.
JsonObject StatusReport(const ReplicatorContext& replica,
                        const std::vector<ServedClone>& served);

// Returns one line of a comparison's answer. VerifyJson makes the last line.
JsonObject ToJson(const KeyDifference& difference);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_

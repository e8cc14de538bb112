// What operators are told, as JSON.

#ifndef ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_
#define ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_

#include <vector>

#include "replication/clone/clone_source.h"
#include "replication/metrics/json.h"
#include "replication/peering/replicator_context.h"
#include "rocksync/stats.h"
#include "rocksync/verify.h"

namespace rocksync {

// The statistics that both Replicator::stats() and `rocksync status` show.
ReplicationStats StatsOf(const ReplicatorContext& replica,
                         const IndexBuildProgress& index,
                         const DiskSpaceStats& disk, const ScrubStats& scrub,
                         const TombstoneGcStats& gc);

// What only the open database, and the clones that it serves, tell.
JsonObject DatabaseReport(const ReplicatorContext& replica,
                          const std::vector<ServedClone>& served);

// How this replica is: DatabaseReport, and all of StatsOf.
JsonObject StatusReport(const ReplicatorContext& replica,
                        const std::vector<ServedClone>& served);

// One line of a comparison; VerifyJson makes its last.
JsonObject ToJson(const KeyDifference& difference);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_

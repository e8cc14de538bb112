// What operators are told, as JSON.

#ifndef ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_
#define ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_

#include <vector>

#include "replication/clone/clone_source.h"
#include "replication/metrics/json.h"
#include "replication/peering/replica.h"
#include "rocksync/verify.h"

namespace rocksync {

// How this replica is.
JsonObject StatusReport(const Replica& replica,
                        const std::vector<ServedClone>& served);

// One line of a comparison; VerifyJson makes its last.
JsonObject ToJson(const KeyDifference& difference);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_STATUS_REPORT_H_

// Whole clusters of real replicas, RocksDB and all, on disks in memory and in
// virtual time, with everything that one seed makes go wrong.

#ifndef ROCKSYNC_TESTS_SIMULATION_STORE_STORE_CLUSTER_H_
#define ROCKSYNC_TESTS_SIMULATION_STORE_STORE_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync::store_simulation {

// Planted, to prove that they are caught. The library knows nothing of them:
// the disk lies about a sync, or the cluster undoes something.
enum class StoreFault : uint8_t {
  kNone,
  kLeaseNotSynced,
  kMembersNotSynced,  // nor the stable time
  kOpeningNotSynced,  // the records of an opening
  kSessionNotSynced,  // before proofs, and before pairs are shipped
  kWriteNotSynced,    // of the application, that asked for it
  kDigestNotNoted,    // a write is not seen by the digests
};

struct StoreClusterOptions {
  uint64_t seed = 1;
  StoreFault fault = StoreFault::kNone;
  // Called with each line of the trace; empty: no trace is made.
  std::function<void(std::string_view)> trace;
};

struct StoreClusterResult {
  std::vector<std::string> violations;
  uint64_t fingerprint = 0;  // of everything that happened
  uint64_t writes = 0;
  uint64_t meetings = 0;
  uint64_t proofs = 0;
  uint64_t openings = 0;
  uint64_t kills = 0;       // of processes
  uint64_t power_lost = 0;  // of them, with the disk's cache
  uint64_t collected_bytes = 0;
  uint64_t copies = 0;
  uint64_t rollbacks = 0;
  uint64_t joined = 0;
  uint64_t removed = 0;
  uint64_t corruption = 0;
  uint64_t unreadable = 0;    // disks, for a while
  uint64_t stable_times = 0;  // moved, by any replica
};

StoreClusterResult RunStoreCluster(const StoreClusterOptions& options);

}  // namespace rocksync::store_simulation

#endif  // ROCKSYNC_TESTS_SIMULATION_STORE_STORE_CLUSTER_H_

// A whole cluster in one thread and in virtual time: the production code of
// set-up, session, exchange, schedule and apply's decisions, over storage in
// memory and a network that one seed makes bad. The same seed gives the same
// run, bit for bit.

#ifndef ROCKSYNC_TESTS_SIMULATION_CLUSTER_H_
#define ROCKSYNC_TESTS_SIMULATION_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/protocol/schedule.h"
#include "replication/protocol/session.h"
#include "replication/protocol/setup.h"
#include "tests/simulation/memory_storage.h"
#include "tests/simulation/random.h"
#include "tests/simulation/truth.h"

namespace rocksync {

// Faults in the cluster rather than in one replica's storage.
enum class ClusterFault : uint8_t {
  kNone,
  kBelieveFilter,  // an answer "differs" reaches the peer as "equal"
};

struct ClusterOptions {
  uint64_t seed = 1;
  PlantedFault storage_fault = PlantedFault::kNone;  // in replica 0
  ClusterFault cluster_fault = ClusterFault::kNone;
  // Called with each line of the trace; empty: no trace is made.
  std::function<void(std::string_view)> trace;
};

// What a seed makes of a run.
struct ClusterShape {
  size_t replicas = 2;
  size_t keys = 5;
  uint32_t families = 1;
  enum class Links { kMesh, kRing, kStar } links = Links::kMesh;
  bool sync_every_write = false;
  bool visitors_at_once = false;  // a replica may be in several sessions
  uint64_t interval_ms = 5000;
  uint64_t faulty_ms = 40'000;  // how long faults and writes go on
  uint64_t write_every_ms = 300;
  uint64_t max_skew_ms = 0;
  uint64_t lose_one_in = 0;   // frames: the connection then hangs; 0: none
  uint64_t break_one_in = 0;  // frames: the connection breaks
  uint64_t slow_one_in = 0;   // frames that take seconds
  uint64_t crash_every_ms = 0;
  uint64_t partition_every_ms = 0;
  uint64_t fail_write_every_ms = 0;
  size_t large_value = 0;  // bytes of one value in 20
  SessionOptions session;
};
ClusterShape ShapeOf(uint64_t seed);
std::string Describe(const ClusterShape& shape);

struct ClusterResult {
  std::vector<std::string> violations;
  uint64_t fingerprint = 0;  // of everything that happened
  uint64_t sessions = 0;
  uint64_t proofs = 0;
  uint64_t pairs_sent = 0;
  uint64_t writes = 0;
  uint64_t crashes = 0;
  uint64_t broken = 0;  // connections
  // From the end of the faults (and of what they held back) to equality.
  uint64_t intervals_to_equal = 0;
};

ClusterResult RunCluster(const ClusterOptions& options);

// After the faults stop, and once no version is held back any more, all
// replicas are equal within so many intervals of the schedule.
inline constexpr uint64_t kIntervalsToEqual = 20;

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_CLUSTER_H_

// A whole cluster in one thread and in virtual time: the production code of
// set-up, session, exchange, schedule and apply's decisions, over storage in
// memory and a network that one seed makes bad. The same seed gives the same
// run, bit for bit.

#ifndef ROCKSYNC_TESTS_SIMULATION_CLUSTER_H_
#define ROCKSYNC_TESTS_SIMULATION_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/memory_membership.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

// Faults in the cluster rather than in one replica's storage.
enum class ClusterFault : uint8_t {
  kNone,
  kBelieveFilter,   // an answer "differs" reaches the peer as "equal"
  kIgnoreRollback,  // replicas forget whom they met
  kReuseMapping,    // replicas say the same nonce on every connection
  kApplyLate,       // what arrives after the stable time has moved is applied
  kActOnDecode,     // what a sketch decodes to counts as all there is
  kForgetMemory,    // sessions are not bounded by the memory they may hold
  kShipUnsynced,    // pairs travel before their sender has synced them
  // Of streams:
  kStreamUnsynced,   // changes travel before their sender has synced them
  kRelayAnyEpoch,    // nobody looks whether what was agreed upon still holds
  kWindowNeverAges,  // the filters of what a peer knows never forget
  kIgnoreGap,        // no session repairs a gap
};

struct ClusterOptions {
  uint64_t seed = 1;
  PlantedFault storage_fault = PlantedFault::kNone;  // in replica 0
  ClusterFault cluster_fault = ClusterFault::kNone;
  MemberFault member_fault = MemberFault::kNone;  // in all
  bool streams = true;  // where the seed has them; false: nowhere
  // Called with each line of the trace; empty: no trace is made.
  std::function<void(std::string_view)> trace;
};

struct ClusterResult {
  std::vector<std::string> violations;
  uint64_t fingerprint = 0;  // of everything that happened
  uint64_t sessions = 0;
  uint64_t proofs = 0;
  uint64_t pairs_sent = 0;
  uint64_t writes = 0;
  uint64_t crashes = 0;
  uint64_t rollbacks = 0;   // disks replaced by an old backup
  uint64_t clones = 0;      // copies started beside the original
  uint64_t refused = 0;     // connections, since an incarnation was over
  uint64_t broken = 0;      // connections
  uint64_t joined = 0;      // new members, and those that were let join anew
  uint64_t removed = 0;     // from the member list
  uint64_t collected = 0;   // tombstones, counted on each replica
  uint64_t corruption = 0;  // pairs that a disk damaged
  // Of streams:
  uint64_t streams = 0;           // opened
  uint64_t changes_streamed = 0;  // sent
  uint64_t changes_relayed = 0;   // of these, written elsewhere
  uint64_t changes_given_up = 0;  // to a session
  uint64_t gaps = 0;              // messages that tell of it
  uint64_t announced = 0;         // changes
  uint64_t prunes = 0;            // messages
  uint64_t grafts = 0;            // changes asked for
  // From the end of the faults, or from equality, until no more tombstones are
  // left than a member list keeps.
  uint64_t intervals_to_collect = 0;
  // From the end of the faults (and of what they held back) to equality.
  uint64_t intervals_to_equal = 0;
  // With streams, and no session that nobody asked for, from some last writes
  // to equality.
  uint64_t intervals_by_streams = 0;
};

ClusterResult RunCluster(const ClusterOptions& options);

// After the faults stop, and once no version is held back any more, all
// replicas are equal within so many intervals of the schedule; where that is
// shorter, of five seconds, or of as long as the longest session takes with
// each replica in turn, if they take one at a time. Intervals in which a
// session expired, with the rest of its work left to the next one, do not
// count, as long as these get on.
inline constexpr uint64_t kIntervalsToEqual = 20;
// Once they are, all collect what was deleted within so many.
inline constexpr uint64_t kIntervalsToCollect = 20;
// With streams on, what is written then is everywhere within so many, although
// the schedule has no session: streams bring it, or a session that they ask
// for.
inline constexpr uint64_t kIntervalsByStreams = 5;

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_CLUSTER_H_

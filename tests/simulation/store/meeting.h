// Two replicas meet: the production code of links on both ends, over a
// connection in memory. Each end has a thread, of which one runs at a time, so
// that all happens in one order.

#ifndef ROCKSYNC_TESTS_SIMULATION_STORE_MEETING_H_
#define ROCKSYNC_TESTS_SIMULATION_STORE_MEETING_H_

#include <functional>
#include <string_view>

#include "replication/peering/replicator_context.h"
#include "rocksdb/status.h"

namespace rocksync::store_simulation {

// What becomes of a frame.
enum class Fate { kArrives, kIsLost, kCuts };

struct MeetingPlan {
  int sessions = 1;  // at most, as long as they prove the two equal
  // Sees each frame before it goes, and may do other things first.
  std::function<Fate(bool from_dialer, std::string_view frame)> on_frame;
  // Before each session, and when one has proved the two equal.
  std::function<void()> before_session;
  std::function<void()> proven;
};

struct MeetingEnd {
  rocksdb::Status status;           // of the dialer's set-up or last session
  rocksdb::Status listener_status;  // of the listener's set-up
  int proofs = 0;
};

MeetingEnd Meet(ReplicatorContext* dialer, ReplicatorContext* listener,
                const MeetingPlan& plan);

// True on a thread on which a session runs.
bool InSession();

}  // namespace rocksync::store_simulation

#endif  // ROCKSYNC_TESTS_SIMULATION_STORE_MEETING_H_

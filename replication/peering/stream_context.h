// What the two threads of a stream have in common.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_CONTEXT_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_CONTEXT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "replication/peering/link.h"
#include "replication/peering/replica.h"
#include "replication/peering/stats_board.h"
#include "replication/stream/stream_messages.h"

namespace rocksync {

using StreamClock = std::chrono::steady_clock;

inline uint64_t ToMs(StreamClock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch())
          .count());
}

// Does not change once the stream is open.
struct StreamContext {
  Replica* replica = nullptr;
  Link* link = nullptr;
  // Has an exact session run with this peer soon; empty at the side that was
  // dialed.
  std::function<void()> repair;
  // The stream is to end. From any thread.
  std::function<bool()> ended;
  StreamOpen theirs;  // what the peer opened it with
  std::unique_ptr<StreamLine> line;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_CONTEXT_H_

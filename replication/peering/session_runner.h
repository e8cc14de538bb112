// Runs one session over a connection, turn by turn, at a bounded rate. The
// session decides; this code only carries and waits: for a peer that reports
// that it is working, up to twenty times as long as for a silent one.

#ifndef ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_
#define ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_

#include <chrono>
#include <functional>
#include <string>

#include "replication/peering/heartbeat.h"
#include "replication/peering/token_bucket.h"
#include "replication/session/session.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SessionRunOptions {
  std::chrono::milliseconds io_timeout;
  std::function<bool()> cancelled;
  // The one that the session polls.
  Heartbeat* heartbeat = nullptr;
  TokenBucket* bytes = nullptr;  // charged for both directions
};

// How a session run ended.
struct SessionRunEnd {
  // OK: the session's report says what came of it.
  rocksdb::Status status;
  // Both sides know that the session is over, and another may follow.
  bool connection_usable = false;
};

// Runs `session` to its end. `first`: its first message if the peer has opened
// it, else empty.
SessionRunEnd DriveSession(const SessionRunOptions& options, std::string first,
                           Session* session, Connection* connection);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_

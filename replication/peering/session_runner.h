// Runs one session over a connection, turn by turn, at a bounded rate. The
// session decides; this code only carries and waits: for a peer that reports
// that it is working, up to twenty times as long as for a silent one. What the
// end of a session means for the two replicas is for the caller to say.

#ifndef ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_
#define ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_

#include <chrono>
#include <functional>
#include <string>

#include "replication/peering/heartbeat.h"
#include "replication/peering/peer_wait.h"
#include "replication/peering/token_bucket.h"
#include "replication/session/session.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SessionDriveOptions {
  std::chrono::milliseconds io_timeout;
  std::function<bool()> cancelled;
  TokenBucket* bytes = nullptr;   // charged for both directions
  PeerWait* peer_wait = nullptr;  // told of each wait, if not null
};

// How a session run ended.
struct SessionRunEnd {
  // OK: the session's report says what came of it.
  rocksdb::Status status;
  // Both sides know that the session is over, and another may follow.
  bool connection_usable = false;
  SessionReport report;  // the session's last one
};

// A session that is to be run.
struct SessionStart {
  Role role = Role::kInitiator;
  SessionOptions options;
  SessionContext
      context;  // but clock and cancellation, which RunOneSession sets
  // The peer's message that opened it, else empty.
  std::string first;
};

// Makes the session, runs it to its end, and counts up `seed`'s number for the
// next one of this connection.
SessionRunEnd RunOneSession(SessionStart start,
                            const SessionDriveOptions& options,
                            SessionSeed* seed, Connection* connection);

// The part of RunOneSession that carries a session which is there. `heartbeat`:
// the one that the session polls. `first` as above.
SessionRunEnd DriveSession(const SessionDriveOptions& options,
                           std::string first, Session* session,
                           Heartbeat* heartbeat, Connection* connection);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_

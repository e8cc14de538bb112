// Runs one session over a connection, turn by turn, at a bounded rate. The
// session decides; this code only carries messages and waits. It waits for a
// peer that sends heartbeats up to twenty times as long as for a silent one.
// The caller judges what the end of a session means for the two replicas.

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

// How the run of a session ended.
struct SessionRunEnd {
  // OK: `report` has the session's outcome.
  rocksdb::Status status;
  // True if both sides know that the session is over, so another may follow.
  bool connection_usable = false;
  SessionReport report;  // the session's last report
};

// The parameters of a session that is to be run.
struct SessionStart {
  Role role = Role::kInitiator;
  SessionOptions options;
  SessionContext
      context;  // all but clock and cancellation, which RunOneSession sets
  // The peer's message that opened the session; empty for an initiator.
  std::string first;
};

// Makes the session, runs it to its end, and increments `seed`'s session number
// for the next session of this connection.
SessionRunEnd RunOneSession(SessionStart start,
                            const SessionDriveOptions& options,
                            SessionSeed* seed, Connection* connection);

// Runs `session`, which exists already, to its end; RunOneSession calls it.
// `heartbeat` is the one that the session polls. `first` as in SessionStart.
SessionRunEnd DriveSession(const SessionDriveOptions& options,
                           std::string first, Session* session,
                           Heartbeat* heartbeat, Connection* connection);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_SESSION_RUNNER_H_

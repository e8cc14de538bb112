#include "replication/peering/session_runner.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "replication/base/status.h"
#include "replication/peering/heartbeat.h"
#include "replication/peering/monotonic_ms.h"
#include "replication/peering/timeout_remedy.h"

namespace rocksync {
namespace {

// The most bytes to discard of what a peer had under way when this side failed:
// a frame that it is sending, and another that the network holds.
constexpr size_t kMaxDiscarded = 2 * kMaxFrameBytes;

class SessionDriver {
 public:
  SessionDriver(const SessionDriveOptions& options, Session* session,
                Heartbeat* heartbeat, Connection* connection)
      : options_(options),
        session_(session),
        heartbeat_(heartbeat),
        connection_(connection) {}

  // Runs the session. A peer may send large frames, and take long for them, in
  // a session only, since few sessions run at once.
  SessionRunEnd Run(std::string first) {
    connection_->SetFrameLimit(kMaxFrameBytes);
    connection_->SetFrameTimeout(kMaxPatience * options_.io_timeout);
    SessionRunEnd end = RunTurns(std::move(first));
    connection_->SetFrameLimit(kMaxSetupFrameBytes);
    connection_->SetFrameTimeout(std::chrono::milliseconds(0));
    end.report = session_->report();
    return end;
  }

 private:
  SessionRunEnd RunTurns(std::string first) {
    rocksdb::Status s;
    if (!first.empty()) s = PassToSession(std::move(first));
    for (;;) {
      const bool failed = !s.ok();
      bool sent_any = false;
      const rocksdb::Status sent = SendTurn(&sent_any);
      if (s.ok()) s = sent;
      if (failed && sent_any && sent.ok()) DiscardUntilClosed();
      if (!s.ok() || session_->done()) break;
      session_->ReadAhead();
      std::string message;
      s = ReceiveNext(&message);
      if (s.ok()) s = PassToSession(std::move(message));
    }
    if (s.ok()) s = ToRocksDb(session_->status());
    SessionRunEnd end;
    end.status = AddTimeoutRemedy(s);
    end.connection_usable = s.ok();
    return end;
  }

  // Sends this side's turn, or as much of it as is known; also the last message
  // of a session that has failed. Ends early if the peer has said that it takes
  // no more, since its reason tells more than a closed connection does.
  rocksdb::Status SendTurn(bool* sent_any) {
    std::string message;
    while (session_->NextMessage(&message)) {
      bool received = false;
      rocksdb::Status s =
          *sent_any ? ReceiveIfAny(&received) : rocksdb::Status::OK();
      if (!s.ok() || received) return s;
      s = Pace(message.size());
      if (s.ok()) s = Send(message);
      if (!s.ok()) {
        const rocksdb::Status why = ReceiveIfAny(&received);
        return received ? why : s;
      }
      *sent_any = true;
      heartbeat_->PeerWaits(Heartbeat::Clock::now());
    }
    return rocksdb::Status::OK();
  }

  rocksdb::Status Send(const std::string& message) {
    const PeerWait::Scope waits(options_.peer_wait, *connection_);
    return connection_->Send(message, options_.io_timeout);
  }

  // Takes a message that has come during this side's turn. Does not wait for
  // one.
  rocksdb::Status ReceiveIfAny(bool* received) {
    std::string message;
    rocksdb::Status s;
    do {
      s = connection_->Receive(&message, std::chrono::milliseconds(0));
    } while (s.ok() && Heartbeat::Is(message));
    if (s.IsTimedOut()) return rocksdb::Status::OK();
    *received = s.ok();
    return s.ok() ? PassToSession(std::move(message)) : s;
  }

  // Discards what comes until the peer closes the connection. The peer may
  // still be sending: closing the connection now would reset it, and the peer
  // would not learn what this side has just sent.
  void DiscardUntilClosed() {
    if (absl::IsInvalidArgument(session_->status())) return;
    const auto until = Heartbeat::Clock::now() + options_.io_timeout;
    std::string message;
    for (size_t bytes = 0; bytes <= kMaxDiscarded; bytes += message.size()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - Heartbeat::Clock::now());
      if (left.count() <= 0 || !connection_->Receive(&message, left).ok()) {
        return;
      }
    }
  }

  // Receives the peer's next message. Heartbeats only extend the wait for it.
  rocksdb::Status ReceiveNext(std::string* message) {
    const auto until =
        Heartbeat::Clock::now() + kMaxPatience * options_.io_timeout;
    for (;;) {
      const PeerWait::Scope waits(options_.peer_wait, *connection_);
      rocksdb::Status s = connection_->Receive(message, options_.io_timeout);
      if (!s.ok() || !Heartbeat::Is(*message)) return s;
      s = ToRocksDb(session_->CheckWhileWaiting());
      if (!s.ok()) return s;
      if (Heartbeat::Clock::now() >= until) {
        return rocksdb::Status::TimedOut(connection_->peer_name(),
                                         "works on its turn for too long");
      }
    }
  }

  rocksdb::Status PassToSession(std::string message) {
    heartbeat_->PeerWaits(Heartbeat::Clock::now());
    rocksdb::Status s = Pace(message.size());
    if (s.ok()) s = ToRocksDb(session_->Receive(message));
    return s;
  }

  // Waits as the rate demands, but never so long that the peer would time out:
  // a rate that low is exceeded.
  rocksdb::Status Pace(size_t bytes) {
    return options_.bytes->Pay(bytes, options_.io_timeout / 4,
                               options_.cancelled)
               ? rocksdb::Status::OK()
               : rocksdb::Status::Aborted("the replicator stops");
  }

  const SessionDriveOptions& options_;
  Session* const session_;
  Heartbeat* const heartbeat_;
  Connection* const connection_;
};

}  // namespace

SessionRunEnd DriveSession(const SessionDriveOptions& options,
                           std::string first, Session* session,
                           Heartbeat* heartbeat, Connection* connection) {
  return SessionDriver(options, session, heartbeat, connection)
      .Run(std::move(first));
}

SessionRunEnd RunOneSession(SessionStart start,
                            const SessionDriveOptions& options,
                            SessionSeed* seed, Connection* connection) {
  Heartbeat heartbeat(connection, options.io_timeout, options.cancelled);
  start.context.now_ms = MonotonicMs;
  start.context.cancelled = [&heartbeat] {
    return heartbeat.Poll(Heartbeat::Clock::now());
  };
  const std::unique_ptr<Session> session =
      NewSession(start.role, start.options, *seed, start.context);
  ++seed->session_number;
  return DriveSession(options, std::move(start.first), session.get(),
                      &heartbeat, connection);
}

}  // namespace rocksync

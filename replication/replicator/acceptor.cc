#include "replication/replicator/acceptor.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "replication/peering/admission.h"
#include "replication/peering/stream_runner.h"
#include "replication/replicator/connection_threads.h"
#include "replication/session/message_type.h"

namespace rocksync {
namespace {

// How long the replica with the larger id waits for a slot for an incoming
// session. Two replicas that open sessions with each other at the same moment
// would both be told "busy", perhaps each time; so that one waits until its own
// attempt has been refused.
constexpr std::chrono::milliseconds kYield{500};
// How long a peer that has proven the secret may take to say what it wants; it
// does so at once.
constexpr std::chrono::milliseconds kFirstFrame{10'000};
// The most threads that are about to end. With more, the machine cannot keep
// up.
constexpr size_t kMaxLeaving = 128;

}  // namespace

void Acceptor::Join() {
  for (Server& server : servers_) server.thread.join();
  servers_.clear();
  idle_links_->Join();
  clones_.Stop();
}

size_t Acceptor::CountAuthenticated() const {
  return static_cast<size_t>(
      std::count_if(servers_.begin(), servers_.end(),
                    [](const Server& s) { return s.authenticated; }));
}

bool Acceptor::Full() const {
  return CountAuthenticated() + idle_links_->size() >=
         replica_->options.max_accepted;
}

void Acceptor::Receive(IncomingConnection incoming) {
  const std::lock_guard lock(mutex_);
  JoinThoseOver(&servers_);
  if (replica_->stopping || Full()) return;
  const size_t most =
      incoming.place != nullptr ? incoming.place->most() : kMaxUnauthenticated;
  if (servers_.size() - CountAuthenticated() >= most + kMaxLeaving) return;
  if (incoming.place == nullptr) {
    incoming.place = std::make_unique<UnauthenticatedPlace>(
        unauthenticated_, incoming.connection.get());
  }
  Server& server = servers_.emplace_back();
  try {
    server.thread = std::thread(
        [this, &server](IncomingConnection one) {
          Serve(std::move(one), &server);
          server.over = true;
        },
        std::move(incoming));
  } catch (const std::system_error&) {  // no more threads: the peer comes again
    servers_.pop_back();
  }
}

bool Acceptor::Conclude(bool proven, UnauthenticatedPlace* place,
                        Server* server) {
  const std::lock_guard lock(mutex_);
  const bool was_kept = place->Leave();
  server->authenticated = proven && was_kept && !Full();
  return server->authenticated;
}

void Acceptor::Serve(IncomingConnection incoming, Server* server) {
  ListedConnection connection(&replica_->connections,
                              std::move(incoming.connection));
  // Destroyed before the connection.
  const std::unique_ptr<UnauthenticatedPlace> place = std::move(incoming.place);
  const std::string peer = connection->peer_name();
  Admission admission;
  admission.auth_hello = std::move(incoming.auth_hello);
  rocksdb::Status s =
      AuthenticateAsListener(AdmissionConfigOf(*replica_), incoming.began,
                             connection.get(), &admission);
  const bool stays = Conclude(s.ok(), place.get(), server);
  // A peer that was silent, or hung up, is not counted as refused.
  if (s.IsInvalidArgument()) {
    replica_->stats.RecordRefusedDialer(peer, connection->peer_replica_id(), s);
  }
  if (s.ok() && !stays)
    s = rocksdb::Status::Busy(
        "too many connections; raise ReplicatorOptions::max_accepted");
  std::string first;  // tells a replica from an operator's tool
  if (s.ok()) {
    s = connection->Receive(
        &first, std::min(kFirstFrame, replica_->options.io_timeout));
  }
  if (s.ok() && IsRequest(first)) {
    s = admin_server_.Serve(connection.get(), admission, first);
  } else if (s.ok() && IsCloneMessage(first)) {
    s = clones_.Serve(connection.get(), admission, first);
  } else if (s.ok()) {
    s = ServeReplica(std::move(connection), std::move(first), server);
  }
  if (!s.ok() && !replica_->stopping) {
    refusals_.Write(replica_->log, peer, s);
  }
}

rocksdb::Status Acceptor::ServeReplica(ListedConnection connection,
                                       std::string first, Server* server) {
  std::unique_ptr<Link> link;
  rocksdb::Status s =
      Link::Accept(replica_, std::move(connection), std::move(first), &link);
  if (!s.ok() || LeaveIdle(&link, server)) return s;
  while (!replica_->stopping && link->AwaitSession(&first).ok() &&
         ServeOne(link.get(), std::move(first))) {
  }
  return s;
}

// The lock keeps the connection counted exactly once, so that no other one
// takes its place, and it is not counted as one too many.
bool Acceptor::LeaveIdle(std::unique_ptr<Link>* link, Server* server) {
  const std::lock_guard lock(mutex_);
  if (!idle_links_->Add(link)) return false;
  server->authenticated = false;
  return true;
}

bool Acceptor::ServeOne(Link* link, std::string first) {
  if (first[0] == static_cast<char>(MessageType::kStreamOpen)) {
    const rocksdb::Status ended =
        StreamRunner(replica_, link, nullptr).Run(first);
    // The dialer reports how a stream ends.
    ended.PermitUncheckedError();
    return false;
  }
  const SessionSlot slot = SlotFor(link->peer_id());
  slot.Watch([link] { return link->progress(); });
  const SessionResult result =
      link->RunSession(std::move(first), static_cast<bool>(slot));
  if (slot) session_ended_(link->peer_id(), result);
  return result.link_usable;
}

SessionSlot Acceptor::SlotFor(uint64_t peer_id) {
  const bool yields = replica_->identity.replica_id > peer_id;
  return replica_->slots.AcquireForIncoming(
      peer_id, yields ? kYield : std::chrono::milliseconds(0));
}

}  // namespace rocksync

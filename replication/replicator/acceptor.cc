#include "replication/replicator/acceptor.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "replication/peering/admission.h"
#include "replication/peering/stream_link.h"
#include "replication/replicator/oldest_of_most.h"
#include "replication/replicator/visits.h"
#include "replication/session/messages.h"

namespace rocksync {
namespace {

// Two replicas that open sessions with each other at the same moment would
// both be told "busy", perhaps each time: the one with the larger id waits for
// its own attempt to be refused.
constexpr std::chrono::milliseconds kYield{500};
// A peer that has proven the secret says at once what it wants.
constexpr std::chrono::milliseconds kFirstFrame{10'000};
// Connections that have not proven the secret.
constexpr size_t kMaxUnauthenticated = 16;
// Threads that are about to end. More of them, and the machine cannot keep up.
constexpr size_t kMostLeaving = 128;

}  // namespace

void Acceptor::Join() {
  for (Visit& visit : visits_) visit.thread.join();
  visits_.clear();
  idle_links_->Join();
  clones_.Stop();
}

size_t Acceptor::Count(Visit::State state) const {
  return static_cast<size_t>(
      std::count_if(visits_.begin(), visits_.end(),
                    [state](const Visit& v) { return v.state == state; }));
}

bool Acceptor::Full() const {
  return Count(Visit::State::kAuthenticated) + idle_links_->size() >=
         replica_->options.max_accepted;
}

void Acceptor::DropUnauthenticated() {
  while (Count(Visit::State::kAuthenticating) >= kMaxUnauthenticated) {
    std::vector<Visit*> authenticating;
    std::vector<uint64_t> ids;
    for (Visit& visit : visits_) {
      if (visit.state != Visit::State::kAuthenticating) continue;
      authenticating.push_back(&visit);
      ids.push_back(visit.peer_id);
    }
    Visit* const oldest = authenticating[OldestOfMost(ids)];
    oldest->state = Visit::State::kLeaving;
    oldest->connection->Close();
  }
}

void Acceptor::Receive(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  ForgetThoseOver(&visits_);
  if (replica_->stopping || Full() ||
      Count(Visit::State::kLeaving) >= kMostLeaving) {
    return;
  }
  DropUnauthenticated();
  Visit& visit = visits_.emplace_back();
  visit.connection = connection.get();
  visit.peer_id = connection->peer_replica_id();
  try {
    visit.thread = std::thread(
        [this, &visit](std::unique_ptr<Connection> incoming) {
          Serve(std::move(incoming), &visit);
          visit.over = true;
        },
        std::move(connection));
  } catch (const std::system_error&) {  // no more threads: the peer comes again
    visits_.pop_back();
  }
}

bool Acceptor::Conclude(bool proven, Visit* visit) {
  const std::lock_guard lock(mutex_);
  visit->connection = nullptr;
  const bool stays =
      proven && visit->state == Visit::State::kAuthenticating && !Full();
  visit->state = stays ? Visit::State::kAuthenticated : Visit::State::kLeaving;
  return stays;
}

void Acceptor::Serve(std::unique_ptr<Connection> incoming, Visit* visit) {
  ListedConnection connection(&replica_->connections, std::move(incoming));
  const std::string peer = connection->peer_name();
  Admission admission;
  rocksdb::Status s =
      AnswerAuthHello(TermsOf(*replica_), connection.get(), &admission);
  const bool stays = Conclude(s.ok(), visit);
  // Not one that was silent, or went.
  if (s.IsInvalidArgument()) {
    replica_->stats.RefusedStranger(peer, connection->peer_replica_id(), s);
  }
  if (s.ok() && !stays)
    s = rocksdb::Status::Busy(
        "too many connections; raise ReplicatorOptions::max_accepted");
  std::string first;  // a replica's, or an operator's tool's?
  if (s.ok()) {
    s = connection->Receive(
        &first, std::min(kFirstFrame, replica_->options.io_timeout));
  }
  if (s.ok() && IsRequest(first)) {
    s = admin_server_.Serve(connection.get(), admission, first);
  } else if (s.ok() && IsCloneMessage(first)) {
    s = clones_.Serve(connection.get(), admission, first);
  } else if (s.ok()) {
    s = ServeReplica(std::move(connection), std::move(first), visit);
  }
  if (!s.ok() && !replica_->stopping) {
    refusals_.Write(replica_->log, peer, s);
  }
}

rocksdb::Status Acceptor::ServeReplica(ListedConnection connection,
                                       std::string first, Visit* visit) {
  std::unique_ptr<Link> link;
  rocksdb::Status s =
      Link::Accept(replica_, std::move(connection), std::move(first), &link);
  if (!s.ok() || LeaveIdle(&link, visit)) return s;
  while (!replica_->stopping && link->AwaitSession(&first).ok() &&
         ServeOne(link.get(), std::move(first))) {
  }
  return s;
}

// Counted once at any moment: no other connection takes its place, nor is it
// taken for one too many.
bool Acceptor::LeaveIdle(std::unique_ptr<Link>* link, Visit* visit) {
  const std::lock_guard lock(mutex_);
  if (!idle_links_->Add(link)) return false;
  visit->state = Visit::State::kLeaving;
  return true;
}

bool Acceptor::ServeOne(Link* link, std::string first) {
  if (first[0] == static_cast<char>(MessageType::kStreamOpen)) {
    const rocksdb::Status ended =
        StreamLink(replica_, link, nullptr).Run(first);
    // How a stream ends is for who dialed it to say.
    ended.PermitUncheckedError();
    return false;
  }
  const SessionSlot slot = SlotFor(link->peer_id());
  slot.Watch([link] { return link->progress(); });
  const SessionResult result =
      link->RunSession(std::move(first), static_cast<bool>(slot));
  if (slot) met_(link->peer_id(), result);
  return result.link_usable;
}

SessionSlot Acceptor::SlotFor(uint64_t peer_id) {
  const bool yields = replica_->identity.replica_id > peer_id;
  return replica_->slots.AcquireForIncoming(
      peer_id, yields ? kYield : std::chrono::milliseconds(0));
}

}  // namespace rocksync

#include "replication/visitors.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "replication/peeked_connection.h"

namespace rocksync {
namespace {

// Two replicas that open sessions with each other at the same moment would
// both be told "busy", perhaps for ever: the one with the larger id waits for
// its own attempt to be refused.
constexpr std::chrono::milliseconds kYield{500};
constexpr std::chrono::milliseconds kBetweenRefusals{1'000};
// Whoever is at the other end has proved nothing yet.
constexpr std::chrono::milliseconds kFirstFrame{10'000};

}  // namespace

void Visitors::Join() {
  for (Visit& visit : visits_) visit.thread.join();
  visits_.clear();
}

void Visitors::ForgetThoseOver() {
  for (auto visit = visits_.begin(); visit != visits_.end();) {
    if (!visit->over) {
      ++visit;
      continue;
    }
    visit->thread.join();
    visit = visits_.erase(visit);
  }
}

void Visitors::Receive(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  ForgetThoseOver();
  if (replica_->stopping || visits_.size() >= replica_->options.max_accepted) {
    return;
  }
  Visit& visit = visits_.emplace_back();
  try {
    visit.thread = std::thread(
        [this, &visit](std::unique_ptr<Connection> visitor) {
          Serve(std::move(visitor));
          visit.over = true;
        },
        std::move(connection));
  } catch (const std::system_error&) {  // no more threads: the peer comes again
    visits_.pop_back();
  }
}

void Visitors::Serve(std::unique_ptr<Connection> connection) {
  auto peeked = std::make_unique<PeekedConnection>(&replica_->connections,
                                                   std::move(connection));
  const std::string peer = peeked->peer_name();
  const rocksdb::Status s =
      peeked->Peek(std::min(kFirstFrame, replica_->options.io_timeout));
  if (!s.ok()) return LogRefusal(peer, s);
  if (!IsAsk(peeked->first())) return ServeReplica(std::move(peeked));
  const rocksdb::Status answered = inquiries_.Serve(std::move(peeked));
  if (!answered.ok()) LogRefusal(peer, answered);
}

void Visitors::ServeReplica(std::unique_ptr<Connection> connection) {
  const std::string peer = connection->peer_name();
  std::unique_ptr<Link> link;
  rocksdb::Status s =
      Link::Open(replica_, Role::kResponder, std::move(connection), &link);
  if (!s.ok()) return LogRefusal(peer, s);
  std::string first;
  while (!replica_->stopping && link->AwaitSession(&first).ok()) {
    const SessionSlot slot = SlotFor(link->peer_id());
    const SessionResult result =
        link->RunSession(std::move(first), static_cast<bool>(slot));
    if (slot) met_(link->peer_id(), result);
    if (!result.link_usable) return;
  }
}

// Who knocks again and again must not fill the log.
void Visitors::LogRefusal(const std::string& peer, const rocksdb::Status& why) {
  if (replica_->stopping) return;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - logged_ < kBetweenRefusals) return;
    logged_ = now;
  }
  rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, replica_->log,
               "[rocksync] %s came and was not received: %s", peer.c_str(),
               why.ToString().c_str());
}

SessionSlot Visitors::SlotFor(uint64_t peer_id) {
  const bool yields = replica_->identity.replica_id > peer_id;
  return replica_->slots.AcquireForVisitor(
      yields ? kYield : std::chrono::milliseconds(0));
}

}  // namespace rocksync

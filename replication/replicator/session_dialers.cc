#include "replication/replicator/session_dialers.h"

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "replication/base/status.h"
#include "replication/peering/monotonic_ms.h"
#include "replication/replicator/schedule.h"

namespace rocksync {
namespace {

// The most threads that dial. One is enough while peers answer; each peer that
// does not answer keeps one for seconds.
constexpr size_t kMaxThreads = 16;

SessionOutcome ToOutcome(const SessionResult& result) {
  // Without a slot, the wait for one goes on at once.
  if (result.no_slot) return SessionOutcome::kExpired;
  if (result.busy) return SessionOutcome::kBusy;
  if (!result.status.ok()) {
    return result.status.IsIncomplete() ? SessionOutcome::kNotProven
                                        : SessionOutcome::kFailed;
  }
  return result.expired ? SessionOutcome::kExpired : SessionOutcome::kProven;
}

}  // namespace

SessionDialers::SessionDialers(ReplicatorContext* replica, uint64_t seed)
    : replica_(replica), peers_(replica, seed, MonotonicMs()) {}

rocksdb::Status SessionDialers::Start() {
  const std::lock_guard lock(mutex_);
  KeepOneFree();
  return threads_.empty() ? NoThread("none to dial peers")
                          : rocksdb::Status::OK();
}

PeerList::Change SessionDialers::SetPeers(
    const std::vector<std::string>& addresses) {
  const std::lock_guard lock(mutex_);
  PeerList::Change change = peers_.Set(addresses, MonotonicMs());
  for (const PeerList::Peer& peer : change.removed) peer.dialer->Retire();
  changed_.notify_all();
  return change;
}

std::vector<PeerList::Peer> SessionDialers::peers() const {
  const std::lock_guard lock(mutex_);
  return peers_.peers();
}

void SessionDialers::AskForSession(size_t number) {
  const std::lock_guard lock(mutex_);
  peers_.Ask(number, MonotonicMs());
  changed_.notify_all();
}

void SessionDialers::RetryFailed() {
  const std::lock_guard lock(mutex_);
  peers_.RetryFailed(MonotonicMs());
  changed_.notify_all();
}

void SessionDialers::RecordSession(size_t number, const SessionResult& result) {
  // Without an interval, only SyncNow tries again.
  if (replica_->options.interval == std::chrono::milliseconds(0)) return;
  const std::lock_guard lock(mutex_);
  peers_.Ended(number, ToOutcome(result), MonotonicMs());
  changed_.notify_all();
}

void SessionDialers::RecordIncomingSession(uint64_t replica_id,
                                           const SessionResult& result) {
  if (!result.proven) return;
  const std::lock_guard lock(mutex_);
  peers_.RecordIncomingProof(replica_id, MonotonicMs());
}

SessionResult SessionDialers::WithDialer(
    const std::string& address,
    const std::function<SessionResult(Dialer*, std::optional<size_t>)>& meet) {
  for (;;) {
    std::shared_ptr<Dialer> dropped;  // hangs up after the lock is released
    std::optional<size_t> number;
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Dialer> dialer =
        peers_.DialerOf(address, &number, &dropped);
    lock.unlock();
    SessionResult result = meet(dialer.get(), number);
    // If SetPeers removed the dialer meanwhile, the call gets another one: the
    // list of peers does not concern it.
    if (result.status.ok() || !dialer->retired() || replica_->stopping) {
      return result;
    }
  }
}

void SessionDialers::Wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void SessionDialers::Join() {
  std::vector<std::thread> threads;
  {
    // Under the lock, since a thread may be starting another one.
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

std::optional<PeerList::Peer> SessionDialers::AwaitDue() {
  std::unique_lock lock(mutex_);
  // Checked under the lock: a stop that came before it notified nobody.
  if (replica_->stopping) return std::nullopt;
  if (replica_->slots.paused()) {
    changed_.wait(lock, [this] {
      return replica_->stopping || !replica_->slots.paused();
    });
    return std::nullopt;
  }
  const std::optional<PeerList::Peer> due = peers_.BeginDue(MonotonicMs());
  if (due.has_value()) {
    --free_;
    KeepOneFree();
    return due;
  }
  const std::optional<uint64_t> next = peers_.NextDueMs();
  if (!next.has_value()) {
    changed_.wait(lock);
  } else {
    changed_.wait_until(lock, FromMonotonicMs(*next));
  }
  return std::nullopt;
}

void SessionDialers::Loop() {
  while (!replica_->stopping) {
    const std::optional<PeerList::Peer> due = AwaitDue();
    if (!due.has_value()) continue;
    if (!replica_->stopping) RunSession(*due);
    const std::lock_guard lock(mutex_);
    peers_.EndMeeting(due->number);
    ++free_;
  }
}

void SessionDialers::RunSession(const PeerList::Peer& peer) {
  RecordSession(peer.number, peer.dialer->RunSession());
  std::unique_lock lock(mutex_);
  const bool idle = peers_.WaitsForItsTurn(peer.number);
  lock.unlock();
  if (idle) peer.dialer->HangUp();
}

void SessionDialers::KeepOneFree() {
  if (free_ > 0 || threads_.size() >= kMaxThreads || replica_->stopping) {
    return;
  }
  try {
    threads_.emplace_back([this] { Loop(); });
    ++free_;
  } catch (const std::system_error&) {
    // The threads that exist go on.
  }
}

}  // namespace rocksync

#include "replication/replicator/peer_list.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rocksync {
namespace {

// The most connections kept open to addresses that SyncNow and Verify were
// given and that are not of peers.
constexpr size_t kMaxOthers = 64;

// Bounds the backoffs by the interval: a failed peer is tried again at the next
// interval at the latest.
ScheduleOptions ToScheduleOptions(const ReplicatorOptions& options) {
  ScheduleOptions schedule;
  schedule.interval_ms = static_cast<uint64_t>(options.interval.count());
  schedule.first_backoff_ms =
      std::min(schedule.first_backoff_ms, schedule.interval_ms);
  schedule.max_backoff_ms = schedule.interval_ms;
  schedule.max_peers_per_interval = options.max_peers_per_interval;
  return schedule;
}

// Returns the addresses in their order, each once.
std::vector<std::string> Once(const std::vector<std::string>& addresses) {
  std::set<std::string> seen;
  std::vector<std::string> once;
  for (const std::string& address : addresses) {
    if (seen.insert(address).second) once.push_back(address);
  }
  return once;
}

}  // namespace

PeerList::PeerList(ReplicatorContext* replica, uint64_t seed, uint64_t now_ms)
    : replica_(replica),
      schedule_(ToScheduleOptions(replica->options),
                Once(replica->options.peers).size(), seed, now_ms) {
  for (const std::string& address : Once(replica->options.peers)) {
    dialers_.emplace(dialers_.size(),
                     std::make_shared<Dialer>(replica, address));
  }
}

PeerList::Change PeerList::Set(const std::vector<std::string>& addresses,
                               uint64_t now_ms) {
  Change change;
  std::set<std::string> fresh(addresses.begin(), addresses.end());
  for (auto it = dialers_.begin(); it != dialers_.end();) {
    if (fresh.erase(it->second->address()) > 0) {
      ++it;
      continue;
    }
    schedule_.Remove(it->first, now_ms);
    change.removed.push_back({it->first, std::move(it->second)});
    it = dialers_.erase(it);
  }
  for (const std::string& address : Once(addresses)) {
    if (fresh.erase(address) == 0) continue;
    auto dialer = std::make_shared<Dialer>(replica_, address);
    const size_t number = schedule_.Add(now_ms);
    dialers_.emplace(number, dialer);
    change.added.push_back({number, std::move(dialer)});
  }
  return change;
}

std::vector<PeerList::Peer> PeerList::peers() const {
  std::vector<Peer> peers;
  for (const auto& [number, dialer] : dialers_) {
    peers.push_back({number, dialer});
  }
  return peers;
}

std::optional<PeerList::Peer> PeerList::BeginDue(uint64_t now_ms) {
  schedule_.GiveTurn(now_ms);
  const std::optional<size_t> due = schedule_.Due(now_ms, met_now_);
  if (!due.has_value()) return std::nullopt;
  schedule_.Begins(*due);
  met_now_.insert(*due);
  return Peer{*due, dialers_.at(*due)};
}

void PeerList::RecordIncomingProof(uint64_t replica_id, uint64_t now_ms) {
  for (const auto& [number, dialer] : dialers_) {
    if (dialer->peer_id() == replica_id) {
      schedule_.Ended(number, SessionOutcome::kProven, now_ms);
    }
  }
}

std::shared_ptr<Dialer> PeerList::DialerOf(const std::string& address,
                                           std::optional<size_t>* number,
                                           std::shared_ptr<Dialer>* dropped) {
  for (const auto& [of_peer, dialer] : dialers_) {
    if (dialer->address() != address) continue;
    *number = of_peer;
    return dialer;
  }
  const auto known = std::find_if(
      others_.begin(), others_.end(),
      [&](const auto& dialer) { return dialer->address() == address; });
  if (known != others_.end()) {
    std::rotate(known, known + 1, others_.end());
    return others_.back();
  }
  if (others_.size() >= kMaxOthers) {
    *dropped = std::move(others_.front());
    others_.pop_front();
  }
  return others_.emplace_back(std::make_shared<Dialer>(replica_, address));
}

}  // namespace rocksync

#include "replication/replicator/schedule.h"

#include <algorithm>
#include <utility>

namespace rocksync {
namespace {

constexpr double kIntervalSpread = 0.25;
constexpr double kBackoffSpread = 0.25;
constexpr double kBusySpread = 0.5;

// `first` doubled `times` times, at most `max`.
uint64_t Doubled(uint64_t first, uint32_t times, uint64_t max) {
  uint64_t ms = first;
  for (uint32_t i = 0; i < times && ms < max; ++i) ms *= 2;
  return std::min(ms, max);
}

// Returns the time from one turn to the next.
uint64_t TurnMs(const ScheduleOptions& options) {
  return std::max<uint64_t>(
      1, options.interval_ms / options.max_peers_per_interval);
}

}  // namespace

Schedule::Schedule(const ScheduleOptions& options, size_t peers, uint64_t seed,
                   uint64_t now_ms)
    : options_(options), random_(seed) {
  while (next_ < peers) peers_[next_++];
  if (options_.interval_ms == 0) return;
  if (TakesTurns()) {
    next_turn_ms_ = now_ms + random_.Next() % TurnMs(options_);
    return;
  }
  for (auto& [number, peer] : peers_) {
    peer.due_ms = now_ms + random_.Next() % options_.interval_ms;
  }
}

size_t Schedule::Add(uint64_t now_ms) {
  Peer& peer = peers_[next_];
  if (TakesTurns()) {
    newcomers_.push_back(next_);
  } else if (options_.interval_ms != 0) {
    peer.due_ms = now_ms;
  }
  return next_++;
}

void Schedule::Remove(size_t peer, uint64_t now_ms) {
  peers_.erase(peer);
  HadItsTurn(peer);
  if (options_.interval_ms == 0 || TakesTurns()) return;
  // So few peers are left that none waits for a turn any more.
  for (auto& [number, left] : peers_) {
    if (!left.due_ms)
      left.due_ms = now_ms + random_.Next() % options_.interval_ms;
  }
}

void Schedule::GiveTurn(uint64_t now_ms) {
  if (!TakesTurns() || now_ms < next_turn_ms_) return;
  next_turn_ms_ =
      now_ms + std::max<uint64_t>(1, Jitter(TurnMs(options_), kIntervalSpread));
  if (turns_.empty()) {
    for (const auto& [number, peer] : peers_) turns_.push_back(number);
  }
  const size_t next = TakeAny(newcomers_.empty() ? &turns_ : &newcomers_);
  HadItsTurn(next);
  std::optional<uint64_t>* const due_ms = &peers_.at(next).due_ms;
  *due_ms = std::min(due_ms->value_or(now_ms), now_ms);
}

size_t Schedule::TakeAny(std::vector<size_t>* peers) {
  std::swap((*peers)[random_.Next() % peers->size()], peers->back());
  const size_t taken = peers->back();
  peers->pop_back();
  return taken;
}

void Schedule::HadItsTurn(size_t peer) {
  std::erase(turns_, peer);
  std::erase(newcomers_, peer);
}

bool Schedule::WaitsForItsTurn(size_t peer) const {
  const auto found = peers_.find(peer);
  return TakesTurns() && found != peers_.end() && !found->second.due_ms;
}

void Schedule::Ask(size_t peer, uint64_t now_ms) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  Peer& asked = found->second;
  asked.asked = true;
  if (asked.busy == 0) {
    asked.due_ms = now_ms;
    return;
  }
  // A peer that was busy is not dialed at once for each gap, but soon; its
  // earlier busy answers do not lengthen the pause.
  asked.busy = 1;
  const uint64_t soon_ms = now_ms + options_.busy_ms;
  asked.due_ms = std::min(asked.due_ms.value_or(soon_ms), soon_ms);
}

void Schedule::RetryFailed(uint64_t now_ms) {
  for (auto& [number, peer] : peers_) {
    if (peer.failures == 0 || !peer.due_ms) continue;
    peer.failures = 0;
    peer.due_ms = std::min(*peer.due_ms, now_ms);
  }
}

void Schedule::Begins(size_t peer) {
  const auto found = peers_.find(peer);
  if (found != peers_.end()) found->second.asked = false;
}

std::optional<size_t> Schedule::Due(uint64_t now_ms,
                                    const std::set<size_t>& except) const {
  std::optional<size_t> first;
  uint64_t earliest = 0;
  for (const auto& [number, peer] : peers_) {
    if (!peer.due_ms || *peer.due_ms > now_ms) continue;
    if (except.count(number) != 0) continue;
    if (first && *peer.due_ms >= earliest) continue;
    first = number;
    earliest = *peer.due_ms;
  }
  return first;
}

std::optional<uint64_t> Schedule::NextDueMs(
    const std::set<size_t>& except) const {
  std::optional<uint64_t> next;
  if (TakesTurns()) next = next_turn_ms_;
  for (const auto& [number, peer] : peers_) {
    if (except.count(number) != 0) continue;
    if (peer.due_ms && (!next || *peer.due_ms < *next)) next = peer.due_ms;
  }
  return next;
}

void Schedule::Ended(size_t peer, SessionOutcome outcome, uint64_t now_ms) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  found->second.due_ms = After(&found->second, outcome, now_ms);
  HadItsTurn(peer);
}

std::optional<uint64_t> Schedule::After(Peer* peer, SessionOutcome outcome,
                                        uint64_t now_ms) {
  peer->failures = outcome == SessionOutcome::kFailed ? peer->failures + 1 : 0;
  peer->busy = outcome == SessionOutcome::kBusy ? peer->busy + 1 : 0;
  const bool again = peer->asked && outcome != SessionOutcome::kFailed &&
                     outcome != SessionOutcome::kBusy;
  if (outcome == SessionOutcome::kExpired || again) return now_ms;
  if (outcome == SessionOutcome::kBusy) {
    const uint64_t longest = options_.interval_ms > 0 ? options_.interval_ms
                                                      : options_.max_backoff_ms;
    return Retry(Doubled(options_.busy_ms, peer->busy - 1, longest),
                 kBusySpread, now_ms);
  }
  if (options_.interval_ms == 0) return std::nullopt;
  if (outcome == SessionOutcome::kFailed) {
    return Retry(Doubled(options_.first_backoff_ms, peer->failures - 1,
                         options_.max_backoff_ms),
                 kBackoffSpread, now_ms);
  }
  if (TakesTurns()) return std::nullopt;
  return now_ms + Jitter(options_.interval_ms, kIntervalSpread);
}

std::optional<uint64_t> Schedule::Retry(uint64_t ms, double spread,
                                        uint64_t now_ms) {
  if (TakesTurns() && ms >= options_.interval_ms) return std::nullopt;
  return now_ms + Jitter(ms, spread);
}

uint64_t Schedule::Jitter(uint64_t ms, double spread) {
  const double unit = static_cast<double>(random_.Next() >> 11) * 0x1p-53;
  return static_cast<uint64_t>(static_cast<double>(ms) *
                               (1 - spread + 2 * spread * unit));
}

}  // namespace rocksync

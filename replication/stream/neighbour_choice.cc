#include "replication/stream/neighbour_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace rocksync {

NeighbourChoice::NeighbourChoice(const NeighbourChoiceOptions& options,
                                 uint64_t seed)
    : options_(options), random_(seed) {}

// Without zones all peers count as being in the own zone.
void NeighbourChoice::Add(size_t peer) {
  const auto [added, is_new] = peers_.emplace(peer, Peer());
  if (!is_new) return;
  if (options_.zone.empty()) added->second.zone = options_.zone;
  const auto place = random_.Next() % (waiting_.size() + 1);
  waiting_.insert(waiting_.begin() + static_cast<ptrdiff_t>(place), peer);
}

void NeighbourChoice::Remove(size_t peer) {
  peers_.erase(peer);
  chosen_.erase(peer);
  std::erase(waiting_, peer);
}

void NeighbourChoice::Open(size_t peer, const std::string& zone) {
  if (chosen_.count(peer) == 0) return;
  Peer* const open = &peers_.at(peer);
  open->without_ms.reset();
  if (!options_.zone.empty()) open->zone = zone;
}

void NeighbourChoice::Closed(size_t peer, uint64_t now_ms) {
  if (chosen_.count(peer) == 0) return;
  Peer* const closed = &peers_.at(peer);
  if (!closed->without_ms) closed->without_ms = now_ms;
}

void NeighbourChoice::NoneWanted(size_t peer, uint64_t now_ms) {
  if (chosen_.count(peer) > 0) peers_.at(peer).without_ms = now_ms;
}

const std::set<size_t>& NeighbourChoice::Choose(uint64_t now_ms) {
  if (limited()) {
    ReplaceSilent(now_ms);
    DropSurplus();
    Renew(now_ms);
  }
  Fill(now_ms);
  return chosen_;
}

size_t NeighbourChoice::Count(const Zone& zone) const {
  return static_cast<size_t>(
      std::count_if(chosen_.begin(), chosen_.end(),
                    [&](size_t peer) { return peers_.at(peer).zone == zone; }));
}

size_t NeighbourChoice::Most(const Zone& zone) const {
  if (!limited()) return std::numeric_limits<size_t>::max();
  if (InOwnZone(zone)) return options_.most;
  if (zone.has_value()) return 1;
  const size_t own = Count(options_.zone);
  return std::max<size_t>(1, options_.most - std::min(own, options_.most));
}

bool NeighbourChoice::HasSubstitute(const Zone& zone) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](size_t peer) {
    const Zone& other = peers_.at(peer).zone;
    return other == zone || (InOwnZone(zone) && !other.has_value());
  });
}

size_t NeighbourChoice::Oldest(const Zone& zone) const {
  std::optional<size_t> oldest;
  for (const size_t peer : chosen_) {
    if (peers_.at(peer).zone != zone) continue;
    if (!oldest || peers_.at(peer).chosen_ms < peers_.at(*oldest).chosen_ms) {
      oldest = peer;
    }
  }
  return *oldest;
}

size_t NeighbourChoice::Newest(const Zone& zone) const {
  std::optional<size_t> newest;
  for (const size_t peer : chosen_) {
    if (peers_.at(peer).zone != zone) continue;
    if (!newest || peers_.at(peer).chosen_ms >= peers_.at(*newest).chosen_ms) {
      newest = peer;
    }
  }
  return *newest;
}

void NeighbourChoice::GiveUp(size_t peer) {
  chosen_.erase(peer);
  waiting_.push_back(peer);
}

// Gives up neighbours without a stream. Each goes last among the peers that
// wait, so that no substitute is one that was given up before it.
void NeighbourChoice::ReplaceSilent(uint64_t now_ms) {
  const std::set<size_t> chosen = chosen_;
  size_t substitutes = waiting_.size();
  for (const size_t peer : chosen) {
    const Peer& neighbour = peers_.at(peer);
    if (substitutes == 0) return;
    if (!neighbour.without_ms ||
        now_ms - *neighbour.without_ms < options_.replace_after_ms ||
        !HasSubstitute(neighbour.zone)) {
      continue;
    }
    GiveUp(peer);
    --substitutes;
  }
}

void NeighbourChoice::DropSurplus() {
  const std::set<size_t> chosen = chosen_;
  for (const size_t peer : chosen) {
    const Zone zone = peers_.at(peer).zone;
    if (!zone.has_value()) continue;
    while (Count(zone) > Most(zone)) GiveUp(Newest(zone));
  }
}

void NeighbourChoice::Renew(uint64_t now_ms) {
  const uint64_t due = renew_at_ms_.value_or(now_ms);
  if (now_ms < due) return;
  const bool first = !renew_at_ms_.has_value();
  renew_at_ms_ = now_ms + options_.renew_ms * 3 / 4 +
                 random_.Next() % (options_.renew_ms / 2 + 1);
  const Zone own = options_.zone;
  if (!first && Count(own) >= options_.most && HasSubstitute(own)) {
    GiveUp(Oldest(own));
  }
}

void NeighbourChoice::Fill(uint64_t now_ms) {
  std::deque<size_t> left;
  for (const size_t peer : waiting_) {
    Peer* const waiting = &peers_.at(peer);
    if (Count(waiting->zone) >= Most(waiting->zone)) {
      left.push_back(peer);
      continue;
    }
    chosen_.insert(peer);
    waiting->chosen_ms = now_ms;
    waiting->without_ms = now_ms;
  }
  waiting_ = std::move(left);
}

}  // namespace rocksync

#include "replication/peering/streams.h"

#include <algorithm>
#include <utility>

#include "replication/base/random_bits.h"

namespace rocksync {
MappingSeed FreshStreamSeed() {
  MappingSeed seed{};
  (void)RandomBytes(seed.data(), seed.size());
  return seed;
}

Streams::Streams(uint64_t self, const SpreadOptions& options,
                 const MappingSeed& seed, ChangeBuffer* buffer)
    : buffer_(buffer), spread_(self, options, seed) {}

bool Streams::Enter(const Neighbour& peer, bool preferred, OpenStream* link) {
  const std::lock_guard lock(mutex_);
  if (!allowed_) return false;
  Entry& entry = open_[peer.id];
  if (entry.link != nullptr) {
    if (entry.preferred && !preferred) return false;
    entry.link->Close();
  }
  entry = {link, preferred, peer.zone};
  spread_.Connect(peer);
  ++topology_number_;
  TopologyChanged();
  return true;
}

void Streams::Leave(uint64_t peer_id, OpenStream* link) {
  const std::lock_guard lock(mutex_);
  const auto entry = open_.find(peer_id);
  if (entry == open_.end() || entry->second.link != link) return;
  open_.erase(entry);
  spread_.Disconnect(peer_id);
  ++topology_number_;
  TopologyChanged();
}

// REQUIRES: mutex_ held.
void Streams::SetPassesOn() {
  std::vector<uint64_t> neighbours;
  for (const Neighbour& one : spread_.neighbours()) {
    neighbours.push_back(one.id);
  }
  buffer_->SetPassesOn(!spread_.meshed(), std::move(neighbours));
}

// REQUIRES: mutex_ held.
void Streams::TopologyChanged() {
  // First, so that it holds before a session that begins after this call takes
  // its snapshot.
  SetPassesOn();
  for (auto& [peer_id, entry] : open_) entry.link->Wake();
}

std::optional<std::string> Streams::ZoneOf(uint64_t peer_id) const {
  const std::lock_guard lock(mutex_);
  const auto entry = open_.find(peer_id);
  if (entry == open_.end()) return std::nullopt;
  return entry->second.zone;
}

void Streams::Allow(bool allowed) {
  const std::lock_guard lock(mutex_);
  allowed_ = allowed;
  if (allowed) return;
  for (auto& [peer_id, entry] : open_) entry.link->Close();
}

bool Streams::allowed() const {
  const std::lock_guard lock(mutex_);
  return allowed_;
}

std::vector<Neighbour> Streams::neighbours(uint64_t* number) const {
  const std::lock_guard lock(mutex_);
  *number = topology_number_;
  return spread_.neighbours();
}

bool Streams::SetNeighbours(uint64_t peer_id,
                            std::vector<Neighbour> neighbours) {
  const std::lock_guard lock(mutex_);
  const bool apart =
      !spread_.SetNeighbours(peer_id, std::move(neighbours)).empty();
  SetPassesOn();
  return apart;
}

bool Streams::AskForMissing(uint64_t now_ms) {
  const std::lock_guard lock(mutex_);
  for (const auto& [peer_id, hashes] : spread_.DueGrafts(now_ms)) {
    const auto entry = open_.find(peer_id);
    if (entry != open_.end()) entry->second.link->AskFor(hashes);
  }
  const uint64_t lost = spread_.lost();
  return std::exchange(lost_, lost) != lost;
}

}  // namespace rocksync

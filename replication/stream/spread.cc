#include "replication/stream/spread.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace rocksync {
namespace {

// Extends a short hash to the element hash that filters take; their own mapping
// mixes its bits.
ElementHash Whole(ShortHash hash) { return {hash, 0}; }

}  // namespace

struct Spread::Edge {
  Edge(Neighbour p, const SlidingWindowOptions& options,
       const MappingSeed& seed)
      : peer(std::move(p)), known(options, seed) {}

  Neighbour peer;
  std::vector<Neighbour> neighbours;  // of the peer, by id
  std::set<uint64_t> lazy;            // origins that are only announced
  SlidingWindowFilter known;          // what the peer has
};

Spread::Spread(uint64_t self, const SpreadOptions& options,
               const MappingSeed& seed)
    : self_(self),
      options_(options),
      seed_(seed),
      held_(options.filter, NextSeed()) {}

Spread::~Spread() = default;

// Returns a new seed, as each filter has a mapping of its own.
MappingSeed Spread::NextSeed() {
  MappingSeed seed = seed_;
  uint64_t number = seeds_++;
  for (size_t i = 0; i < sizeof number; ++i) {
    seed[i] = static_cast<uint8_t>(seed[i] ^ (number & 0xff));
    number >>= 8;
  }
  return seed;
}

Spread::Edge* Spread::Find(uint64_t peer) const {
  const auto edge = edges_.find(peer);
  return edge == edges_.end() ? nullptr : edge->second.get();
}

void Spread::Connect(const Neighbour& peer) {
  edges_[peer.id] = std::make_unique<Edge>(peer, options_.filter, NextSeed());
  FindMesh();
}

void Spread::Disconnect(uint64_t peer) {
  edges_.erase(peer);
  for (auto& [hash, missing] : missing_) {
    std::erase(missing, peer);
  }
  FindMesh();
}

std::vector<uint64_t> Spread::SetNeighbours(uint64_t peer,
                                            std::vector<Neighbour> neighbours) {
  std::vector<uint64_t> apart;
  Edge* const edge = Find(peer);
  if (edge == nullptr) return apart;
  std::sort(neighbours.begin(), neighbours.end());
  const std::vector<Neighbour> before =
      std::exchange(edge->neighbours, std::move(neighbours));
  for (const Neighbour& other : before) {
    if (Find(other.id) != nullptr && !AreNeighbours(peer, other.id)) {
      apart.push_back(other.id);
    }
  }
  FindMesh();
  return apart;
}

std::vector<Neighbour> Spread::neighbours() const {
  std::vector<Neighbour> all;
  for (const auto& [id, edge] : edges_) all.push_back(edge->peer);
  return all;
}

// Returns true if they are neighbours, as `peer` says.
bool Spread::AreNeighbours(uint64_t peer, uint64_t other) const {
  const Edge* const edge = Find(peer);
  return edge != nullptr &&
         std::any_of(edge->neighbours.begin(), edge->neighbours.end(),
                     [&](const Neighbour& n) { return n.id == other; });
}

// Sets meshed_: true if all neighbours are of this replica's zone, and each of
// them has this replica and all the others as neighbours.
void Spread::FindMesh() {
  meshed_ = true;
  for (const auto& [id, edge] : edges_) {
    meshed_ &= edge->peer.zone == options_.zone &&
               edge->neighbours.size() == edges_.size();
    for (const Neighbour& other : edge->neighbours) {
      meshed_ &= other.id == self_ || Find(other.id) != nullptr;
    }
  }
}

bool Spread::HasEdgeTo(uint64_t peer, const std::string& zone) const {
  const auto in_zone = [&](const Neighbour& n) { return n.zone == zone; };
  if (peer == self_) {
    return std::any_of(edges_.begin(), edges_.end(), [&](const auto& edge) {
      return in_zone(edge.second->peer);
    });
  }
  const Edge* const edge = Find(peer);
  return edge != nullptr &&
         std::any_of(edge->neighbours.begin(), edge->neighbours.end(), in_zone);
}

// Returns true if this replica takes a change over to `zone` that came from
// `source` (null: written here), which is not of that zone.
bool Spread::Crosses(const Edge* source, const std::string& zone) const {
  if (source == nullptr || source->peer.zone != options_.zone) return true;
  if (HasEdgeTo(source->peer.id, zone)) return false;
  return std::none_of(source->neighbours.begin(), source->neighbours.end(),
                      [&](const Neighbour& n) {
                        return n.id < self_ && n.zone == options_.zone &&
                               HasEdgeTo(n.id, zone);
                      });
}

// Returns the neighbour in `zone` to which changes are pushed. REQUIRES: there
// is one.
uint64_t Spread::FirstOf(const std::string& zone) const {
  const auto first = std::find_if(
      edges_.begin(), edges_.end(),
      [&](const auto& edge) { return edge.second->peer.zone == zone; });
  return first->first;
}

Spread::Way Spread::WayAcross(const Edge& to, const Edge* source) const {
  const std::string& zone = to.peer.zone;
  if (source != nullptr && source->peer.zone == zone) return Way::kNone;
  if (!Crosses(source, zone)) return Way::kNone;
  return FirstOf(zone) == to.peer.id ? Way::kPush : Way::kAnnounce;
}

Spread::Way Spread::WayWithin(const Edge& to, const Edge* source,
                              const Spreading& change) const {
  // A source in another zone pushes to one replica of this zone alone.
  const bool has_it_from_source = source != nullptr &&
                                  source->peer.zone == options_.zone &&
                                  AreNeighbours(source->peer.id, to.peer.id);
  if (has_it_from_source) return Way::kNone;
  return to.lazy.count(change.origin) > 0 ? Way::kAnnounce : Way::kPush;
}

Spread::Way Spread::WayTo(uint64_t peer, const Spreading& change,
                          uint64_t now_ms) {
  Edge* const to = Find(peer);
  if (to == nullptr || peer == change.source || peer == change.origin) {
    return Way::kNone;
  }
  if (!NeedsHash(change.source)) {
    return change.source == 0 ? Way::kPush : Way::kNone;
  }
  if (change.source == 0) held_.Insert(Whole(change.hash), now_ms);
  const Edge* const source = change.source == 0 ? nullptr : Find(change.source);
  Way way = to->peer.zone == options_.zone ? WayWithin(*to, source, change)
                                           : WayAcross(*to, source);
  if (way == Way::kNone) return way;
  if (to->known.MayContain(Whole(change.hash), now_ms)) return Way::kNone;
  if (way == Way::kPush) to->known.Insert(Whole(change.hash), now_ms);
  return way;
}

bool Spread::Arrived(const Spreading& change, bool applied, uint64_t now_ms) {
  if (meshed_) return false;
  Edge* const from = Find(change.source);
  if (from != nullptr) from->known.Insert(Whole(change.hash), now_ms);
  missing_.erase(change.hash);
  // A change that loses to a later version need not have come by another way.
  const bool twice = !applied && held_.MayContain(Whole(change.hash), now_ms);
  held_.Insert(Whole(change.hash), now_ms);
  if (!twice || from == nullptr) return false;
  MakeLazy(from, change.origin);
  return true;
}

// Bounds the set, as a peer may name origins that no replica has heard of.
void Spread::MakeLazy(Edge* edge, uint64_t origin) const {
  edge->lazy.insert(origin);
  if (edge->lazy.size() <= options_.max_lazy) return;
  const auto first = edge->lazy.begin();
  edge->lazy.erase(*first == origin ? std::next(first) : first);
}

void Spread::OnPrune(uint64_t peer, uint64_t origin) {
  if (Edge* const edge = Find(peer)) MakeLazy(edge, origin);
}

void Spread::OnAnnounce(uint64_t peer, std::span<const ShortHash> hashes,
                        uint64_t now_ms) {
  Edge* const edge = Find(peer);
  if (edge == nullptr) return;
  for (const ShortHash hash : hashes) {
    edge->known.Insert(Whole(hash), now_ms);
    if (held_.MayContain(Whole(hash), now_ms)) continue;
    const auto known = missing_.find(hash);
    if (known != missing_.end()) {
      std::erase(known->second, peer);
      known->second.push_back(peer);
    } else if (missing_.size() < options_.max_missing) {
      missing_[hash] = {peer};
      due_.emplace(now_ms + options_.graft_ms, hash);
    } else {
      ++lost_;
    }
  }
}

void Spread::OnGraft(uint64_t peer, uint64_t origin, ShortHash hash,
                     uint64_t now_ms) {
  Edge* const edge = Find(peer);
  if (edge == nullptr) return;
  edge->lazy.erase(origin);
  edge->known.Insert(Whole(hash), now_ms);
}

std::map<uint64_t, std::vector<ShortHash>> Spread::DueGrafts(uint64_t now_ms) {
  std::map<uint64_t, std::vector<ShortHash>> grafts;
  while (!due_.empty() && due_.begin()->first <= now_ms) {
    const ShortHash hash = due_.begin()->second;
    due_.erase(due_.begin());
    const auto it = missing_.find(hash);
    if (it == missing_.end()) continue;  // the change has come
    std::vector<uint64_t>* const announcers = &it->second;
    if (announcers->empty()) {
      ++lost_;
      missing_.erase(it);
      continue;
    }
    grafts[announcers->front()].push_back(hash);
    announcers->erase(announcers->begin());
    due_.emplace(now_ms + options_.graft_ms, hash);
  }
  return grafts;
}

uint64_t Spread::NextDueMs() const {
  return due_.empty() ? std::numeric_limits<uint64_t>::max()
                      : due_.begin()->first;
}

uint64_t Spread::Remembered(uint64_t now_ms) {
  uint64_t remembered = held_.GetStatistics(now_ms).elements;
  for (const auto& [id, edge] : edges_) {
    remembered += edge->known.GetStatistics(now_ms).elements;
  }
  return remembered;
}

}  // namespace rocksync

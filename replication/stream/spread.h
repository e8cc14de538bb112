// Decides which neighbours a change goes to, so that every replica gets it
// soon, and once. Pure: no IO; time and chance are arguments.
//
// In a full mesh the writer of a change sends it to all replicas, and no
// replica passes it on. Elsewhere changes are passed on along a tree for each
// origin, found as in Plumtree (Leitao, Pereira, Rodrigues: Epidemic Broadcast
// Trees, SRDS 2007): an edge begins as eager. A replica that gets a change
// twice says Prune, and from then on the edge only announces the changes of
// that origin, by short hashes. A replica that misses a change which was
// announced to it sends Graft to an announcer, which sends the change and makes
// the edge eager again. Two rules save what would otherwise have to be pruned:
//  - A change is not passed on to neighbours of the replica that it came from.
//  - Each edge has a filter of what the peer is known to have: sent to it, come
//    from it, or announced by it. If the filter errs, a change does not go
//    there, and the next session brings it.
//
// Zones: within a zone all of this holds. From one zone to another a change is
// pushed over one edge, by the replica at which it came into the zone; that
// replica announces it over its other edges to the other zone. If it has no
// such edge, a neighbour in its own zone pushes the change: of those with such
// an edge, the one with the smallest id.

#ifndef ROCKSYNC_REPLICATION_STREAM_SPREAD_H_
#define ROCKSYNC_REPLICATION_STREAM_SPREAD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/window/sliding_window_filter.h"

namespace rocksync {

struct SpreadOptions {
  std::string zone;  // of this replica
  // The filters of each edge, and of what is held here. A change that comes by
  // several ways does so within seconds. An error leaves a change to the next
  // session, which may be long in coming, so the rate is low.
  SlidingWindowOptions filter{.window_ms = 4'000,
                              .false_positive_rate = 1e-6,
                              .max_bytes = size_t{1} << 20};
  // How long an announced change is waited for before it is asked for.
  uint64_t graft_ms = 200;
  // The most announced changes to wait for; more are left to sessions.
  size_t max_missing = size_t{1} << 14;
  // The most origins whose changes an edge only announces. Of more, some are
  // sent over it again until the peer says Prune again.
  size_t max_lazy = size_t{1} << 12;
};

// A replica, as its neighbours describe it.
struct Neighbour {
  uint64_t id = 0;
  std::string zone;
  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;
};

// The leading bits of a change's element hash, by which it is announced.
using ShortHash = uint64_t;
inline ShortHash ShortHashOf(const ElementHash& hash) { return hash.high; }

// A change on its way.
struct Spreading {
  ShortHash hash = 0;   // of its element, if NeedsHash
  uint64_t origin = 0;  // who wrote it
  uint64_t source = 0;  // the replica that it came from; 0: written here
};

// Decides for one replica where changes go, by what it knows of its neighbours.
// Not thread-safe.
class Spread {
 public:
  // `seed` must be fresh.
  Spread(uint64_t self, const SpreadOptions& options, const MappingSeed& seed);
  ~Spread();

  // Adds a neighbour, whose own neighbours are not known yet.
  void Connect(const Neighbour& peer);
  // Removes a neighbour.
  void Disconnect(uint64_t peer);
  // Records the neighbours that `peer` says it has. Returns those of this
  // replica's neighbours that `peer` has lost: changes that it had for them may
  // be missing there.
  std::vector<uint64_t> SetNeighbours(uint64_t peer,
                                      std::vector<Neighbour> neighbours);
  // Returns the neighbours, by id. All of them are to be told whenever that
  // changes.
  std::vector<Neighbour> neighbours() const;

  // Returns true in a full mesh of one zone, where the writer of a change sends
  // it.
  bool meshed() const { return meshed_; }
  // Returns true if a change from `source` may have to be passed on.
  bool NeedsHash(uint64_t source) const {
    return !meshed_ || IsStranger(source);
  }

  // What to do with a change that is committed here. WayTo is asked once for
  // each neighbour and change.
  enum class Way : uint8_t { kNone, kPush, kAnnounce };
  Way WayTo(uint64_t peer, const Spreading& change, uint64_t now_ms);

  // Records a change that came from `change.source`. `applied`: it is what is
  // stored now. Returns true if the source is to be sent Prune for this origin.
  bool Arrived(const Spreading& change, bool applied, uint64_t now_ms);

  // These record what a neighbour says.
  void OnPrune(uint64_t peer, uint64_t origin);
  void OnAnnounce(uint64_t peer, std::span<const ShortHash> hashes,
                  uint64_t now_ms);
  // Records that a change of this origin is sent to the peer, which asked for
  // it.
  void OnGraft(uint64_t peer, uint64_t origin, ShortHash hash, uint64_t now_ms);

  // Returns the changes that are missing for too long, by the neighbour to ask
  // for them. A change is given up if no announcer is left to be asked, see
  // lost().
  std::map<uint64_t, std::vector<ShortHash>> DueGrafts(uint64_t now_ms);
  // Returns when DueGrafts is to be called next; UINT64_MAX: not before
  // something is announced.
  uint64_t NextDueMs() const;
  // The number of announced changes that are left to sessions.
  uint64_t lost() const { return lost_; }

  // Returns how many changes are remembered, by all filters together. 0 once a
  // window, and a slice of it, has gone by without any change.
  uint64_t Remembered(uint64_t now_ms);

 private:
  struct Edge;

  Edge* Find(uint64_t peer) const;
  // Returns true if `source` is no neighbour, or none any more, so that a
  // session brought its change: it is not known which others it has sent the
  // change to.
  bool IsStranger(uint64_t source) const {
    return source != 0 && Find(source) == nullptr;
  }
  bool AreNeighbours(uint64_t peer, uint64_t other) const;
  void MakeLazy(Edge* edge, uint64_t origin) const;
  bool HasEdgeTo(uint64_t peer, const std::string& zone) const;
  bool Crosses(const Edge* source, const std::string& zone) const;
  uint64_t FirstOf(const std::string& zone) const;
  Way WayAcross(const Edge& to, const Edge* source) const;
  Way WayWithin(const Edge& to, const Edge* source,
                const Spreading& change) const;
  void FindMesh();
  MappingSeed NextSeed();

  const uint64_t self_;
  const SpreadOptions options_;
  MappingSeed seed_;
  uint64_t seeds_ = 0;
  std::map<uint64_t, std::unique_ptr<Edge>> edges_;
  bool meshed_ = true;
  SlidingWindowFilter held_;  // what came here, or was written here
  // The announcers of each change that has not come, in the order of asking.
  std::map<ShortHash, std::vector<uint64_t>> missing_;
  std::set<std::pair<uint64_t, ShortHash>> due_;  // by time; it may have come
  uint64_t lost_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_SPREAD_H_

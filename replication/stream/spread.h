// Which neighbours a change goes to, so that every replica gets it soon, and
// once. Pure: no IO, time and chance are arguments.
//
// Where all replicas are connected to all, whoever wrote a change sends it to
// everybody and nobody passes it on. Elsewhere changes are passed on along a
// tree for each origin, found as in Plumtree (Leitao, Pereira, Rodrigues:
// Epidemic Broadcast Trees, SRDS 2007): an edge begins as eager. A replica
// that gets a change twice says Prune, and from then on the edge only announces
// the changes of that origin, by short hashes. A replica that misses a change
// which was announced to it sends Graft to an announcer, which sends the change
// and is eager again. Two rules save what would else have to be pruned:
//  - nothing is passed on to a neighbour of the replica that it came from;
//  - for each edge there is a filter of what the peer is known to have: sent to
//    it, come from it, or announced by it. If it errs a change does not go
//    there, and the next session brings it.
//
// Zones: within one as above. From one to another a change is pushed over one
// edge, by the replica at which it came into the zone, which announces it over
// its other edges to there. If that has none, by the one of its neighbours in
// the zone with an edge to there that has the smallest id.

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
  // Of each edge, and of what is held here. What comes by several ways does so
  // within seconds. An error leaves a change to the next session, which may be
  // long in coming, so there are few.
  SlidingWindowOptions filter{.window_ms = 4'000,
                              .false_positive_rate = 1e-6,
                              .max_bytes = size_t{1} << 20};
  // How long a change may be announced before it is asked for.
  uint64_t graft_ms = 200;
  // Announced changes that are waited for; more are left to sessions.
  size_t max_missing = size_t{1} << 14;
  // Origins of which an edge only announces the changes. Of more, some are sent
  // over it again until the peer says Prune again.
  size_t max_lazy = size_t{1} << 12;
};

// A replica as its neighbours tell of it.
struct Neighbour {
  uint64_t id = 0;
  std::string zone;
  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;
};

// The leading bits of a change's element hash, by which it is announced.
using ShortHash = uint64_t;
inline ShortHash ShortHashOf(const ElementHash& hash) { return hash.high; }

// One change on its way.
struct Spreading {
  ShortHash hash = 0;   // of its element, if NeedsHash
  uint64_t origin = 0;  // who wrote it
  uint64_t source = 0;  // the replica that it came from; 0: written here
};

class Spread {
 public:
  // `seed` must be fresh.
  Spread(uint64_t self, const SpreadOptions& options, const MappingSeed& seed);
  ~Spread();

  // A neighbour comes; nobody is known to be connected with it yet.
  void Connect(const Neighbour& peer);
  // It goes.
  void Disconnect(uint64_t peer);
  // What `peer` says of its neighbours. Returns those of this replica's that
  // it has lost: what it had for them may be missing there.
  std::vector<uint64_t> SetNeighbours(uint64_t peer,
                                      std::vector<Neighbour> neighbours);
  // To be told to all neighbours, whenever it has changed. By id.
  std::vector<Neighbour> neighbours() const;

  // All are connected to all, and in one zone: who wrote a change sends it.
  bool meshed() const { return meshed_; }
  // Of a change from there: it may have to be passed on.
  bool NeedsHash(uint64_t source) const {
    return !meshed_ || IsStranger(source);
  }

  // What to do with a change that is committed here. Asked once for each
  // neighbour and change.
  enum class Way : uint8_t { kNone, kPush, kAnnounce };
  Way WayTo(uint64_t peer, const Spreading& change, uint64_t now_ms);

  // A change came from `change.source`. `applied`: it is what is stored now.
  // True: Prune is to be said to the source, of this origin.
  bool Arrived(const Spreading& change, bool applied, uint64_t now_ms);

  // What neighbours say.
  void OnPrune(uint64_t peer, uint64_t origin);
  void OnAnnounce(uint64_t peer, std::span<const ShortHash> hashes,
                  uint64_t now_ms);
  // A change of this origin is sent to the peer.
  void OnGraft(uint64_t peer, uint64_t origin, ShortHash hash, uint64_t now_ms);

  // Changes that are missing for too long: whom to ask for them. Those of which
  // nobody is left to be asked are given up, see lost().
  std::map<uint64_t, std::vector<ShortHash>> DueGrafts(uint64_t now_ms);
  // When DueGrafts is to be asked next; UINT64_MAX: not before something is
  // announced.
  uint64_t NextDueMs() const;
  // Changes that were announced, and are left to sessions.
  uint64_t lost() const { return lost_; }

  // For tests of what the filters forget: how often a change is remembered, by
  // all of them together. Not at all once a window, and a slice of it, has gone
  // by without any.
  uint64_t RememberedForTesting(uint64_t now_ms);

 private:
  struct Edge;

  Edge* Find(uint64_t peer) const;
  // By a session, from a replica that is no neighbour, or none any more: nobody
  // knows whom else it has sent a change to.
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
  // Who announced what has not come, in the order in which they are asked.
  std::map<ShortHash, std::vector<uint64_t>> missing_;
  std::set<std::pair<uint64_t, ShortHash>> due_;  // when; maybe come by then
  uint64_t lost_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_SPREAD_H_

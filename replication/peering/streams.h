// What all streams of a replica share: which are open, and which way changes
// go.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAMS_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replication/peering/group_sync.h"
#include "replication/store/write/change_log.h"
#include "replication/stream/spread.h"

namespace rocksync {

// One of them, as the others see it. Thread-safe.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Has it end soon.
  virtual void Close() = 0;
  // Has it look whether there is something to be said.
  virtual void Wake() = 0;
  // The peer has announced these, and they did not come.
  virtual void AskFor(const std::vector<ShortHash>& hashes) = 0;
};

// For Streams. Without random bytes the mappings are those of an earlier start,
// which costs no more than an unlucky one does.
MappingSeed FreshStreamSeed();

// The streams that are open: one with each peer. Thread-safe.
class Streams {
 public:
  // `log` must outlive it; `seed` must be fresh.
  Streams(uint64_t self, const SpreadOptions& options, const MappingSeed& seed,
          ChangeLog* log);

  // `link` is a stream with this peer from now on; another one is closed.
  // False: there is one that is to be kept, or none may begin now. Of two that
  // the replicas dialed at once both keep the one (`preferred`) that the
  // smaller replica id dialed.
  bool Enter(const Neighbour& peer, bool preferred, OpenStream* link);
  // Before `link` goes.
  void Leave(uint64_t peer_id, OpenStream* link);

  bool Has(uint64_t peer_id) const { return ZoneOf(peer_id).has_value(); }
  // Of a peer that there is a stream with.
  std::optional<std::string> ZoneOf(uint64_t peer_id) const;

  // While not allowed none begins; those that are open are closed.
  void Allow(bool allowed);
  bool allowed() const;

  GroupSync* sync() { return &sync_; }

  // Those whom this replica has streams with, to be told to all of them; and a
  // number that is another one if they have changed.
  std::vector<Neighbour> neighbours(uint64_t* number) const;

  // Runs `use` with the Spread.
  template <typename Use>
  auto With(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(&spread_);
  }
  // Takes a peer's list of its neighbours. True: the peer has lost one that
  // this replica has, too, so changes in flight between the two may be missing
  // there.
  bool SetNeighbours(uint64_t peer_id, std::vector<Neighbour> neighbours);

  // Has those asked who announced what is missing for too long. True: some of
  // it nobody can be asked for any more, so sessions have to bring it.
  bool AskForMissing(uint64_t now_ms);

 private:
  struct Entry {
    OpenStream* link = nullptr;
    bool preferred = false;
    std::string zone;  // of the peer
  };

  void TopologyChanged();
  void SetPassesOn();

  ChangeLog* const log_;
  mutable std::mutex mutex_;
  bool allowed_ = true;
  std::map<uint64_t, Entry> open_;
  Spread spread_;
  uint64_t lost_ = 0;             // of the Spread, as told so far
  uint64_t topology_number_ = 1;  // of the neighbours here
  GroupSync sync_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAMS_H_

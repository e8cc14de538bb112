// The state that all streams of a replica share: which streams are open, and
// which way changes go.

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
#include "replication/store/write/change_buffer.h"
#include "replication/stream/spread.h"

namespace rocksync {

// An open stream, as the others see it. Thread-safe.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Makes the stream end soon.
  virtual void Close() = 0;
  // Makes the sending half look whether there is something to be sent.
  virtual void Wake() = 0;
  // Asks the peer for changes that it has announced and that did not come.
  virtual void AskFor(const std::vector<ShortHash>& hashes) = 0;
};

// Returns a random seed for Streams. If the system gives no random bytes, the
// mappings repeat those of an earlier start, which costs no more than an
// unlucky mapping does.
MappingSeed FreshStreamSeed();

// The open streams, at most one with each peer. Thread-safe.
class Streams {
 public:
  // `buffer` must outlive this; `seed` must be fresh.
  Streams(uint64_t self, const SpreadOptions& options, const MappingSeed& seed,
          ChangeBuffer* buffer);

  // Registers `link` as the stream with this peer, and closes an earlier one.
  // Returns false if the earlier one is to be kept, or no stream may begin now.
  // If both replicas dialed at once, both keep the stream that the replica with
  // the smaller id dialed (`preferred`).
  bool Enter(const Neighbour& peer, bool preferred, OpenStream* link);
  // Removes `link`, if it is registered. Called before `link` is destroyed.
  void Leave(uint64_t peer_id, OpenStream* link);

  bool Has(uint64_t peer_id) const { return ZoneOf(peer_id).has_value(); }
  // Returns the zone of a peer; nullopt: there is no stream with it.
  std::optional<std::string> ZoneOf(uint64_t peer_id) const;

  // Allows streams or not. While they are not allowed, none begins, and those
  // that are open are closed.
  void Allow(bool allowed);
  bool allowed() const;

  GroupSync* sync() { return &sync_; }

  // Returns the peers with which this replica has streams; each of them is told
  // this list. `*number` changes whenever the list does.
  std::vector<Neighbour> neighbours(uint64_t* number) const;

  // Runs `use` with the Spread, under the lock.
  template <typename Use>
  auto With(const Use& use) {
    const std::lock_guard lock(mutex_);
    return use(&spread_);
  }
  // Takes a peer's list of its neighbours. Returns true if the peer has lost a
  // neighbour that this replica has too: changes in flight between those two
  // may be missing there.
  bool SetNeighbours(uint64_t peer_id, std::vector<Neighbour> neighbours);

  // Asks for changes that have been missing for too long, from peers that
  // announced them. Returns true if no peer is left to ask for some of them, so
  // that sessions have to bring these.
  bool AskForMissing(uint64_t now_ms);

 private:
  struct Entry {
    OpenStream* link = nullptr;
    bool preferred = false;
    std::string zone;  // of the peer
  };

  void TopologyChanged();
  void SetPassesOn();

  ChangeBuffer* const buffer_;
  mutable std::mutex mutex_;
  bool allowed_ = true;
  std::map<uint64_t, Entry> open_;
  Spread spread_;
  uint64_t lost_ = 0;             // Spread::lost(), as reported so far
  uint64_t topology_number_ = 1;  // counts changes of the neighbours here
  GroupSync sync_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAMS_H_

// What a stream needs of the replica at which it runs, and of its connection.
// The replicator's threads and the simulation both implement it.

#ifndef ROCKSYNC_REPLICATION_STREAM_STREAM_HOST_H_
#define ROCKSYNC_REPLICATION_STREAM_STREAM_HOST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "replication/session/storage_view.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_dues.h"
#include "replication/stream/stream_messages.h"
#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// Why a stream ends whose set-up is out of date; the next one follows at once.
inline constexpr char kTermsChanged[] =
    "the families, the member list or the stable time has changed since the "
    "set-up; reconnecting";

// The facts that do not change once a stream is open.
struct StreamFacts {
  uint64_t peer_id = 0;
  std::string peer_name;
  bool dialed = false;  // by this side, which begins the sessions that repair
  StreamOpen mine;
  StreamOpen theirs;
};

// A change of the buffer. The views do not own their bytes.
struct BufferedChange {
  uint32_t family = 0;  // ordinal in the family list agreed at set-up
  std::string_view key;
  Version version;
  bool tombstone = false;
  std::string_view value;
  uint64_t source = 0;    // the peer that it came from; 0: written here
  bool left_out = false;  // too large: its value, or its key too, is not here
};

struct ChangeBatch {
  std::vector<BufferedChange> changes;
  uint64_t lost = 0;       // changes before these that the buffer had to drop
  uint64_t last = 0;       // number of the last change
  uint64_t oldest_ms = 0;  // when the first was made
};

// The replica and the connection, as a stream sees them. Two threads may use
// it, one for the sending half of the stream and one for the receiving half.
// Methods that name neither half are for both.
class StreamHost {
 public:
  virtual ~StreamHost() = default;

  virtual const StreamFacts& facts() const = 0;
  // Returns a monotonic time, in milliseconds.
  virtual uint64_t NowMs() const = 0;

  // For the sending half. Takes the next changes of the buffer, about
  // `max_bytes` of keys and values, at least one if there is any; valid until
  // the next call. Returns Unavailable if one is of a family that the set-up
  // did not know.
  virtual absl::Status Take(size_t max_bytes, ChangeBatch* taken) = 0;
  // For the sending half. Returns once all changes up to this number, or
  // everything that is there, are durable. Does nothing if
  // ReplicatorOptions::stream_syncs is false.
  virtual absl::Status MakeDurable(uint64_t number) = 0;
  virtual absl::Status MakeAllDurable() = 0;
  // For the sending half. Waits until the replica's rate limit allows so many
  // bytes. Returns an error if the stream ends, or what was agreed upon holds
  // no longer.
  virtual absl::Status Pay(size_t /*bytes*/) { return absl::OkStatus(); }
  // For the sending half. Sends messages in order, each as a frame of its own.
  virtual absl::Status Send(std::string_view message) = 0;

  // Returns true while what the two agreed upon in the set-up holds: the member
  // list, the stable time, the families, and who the peer is.
  virtual bool TermsHold() const = 0;
  virtual uint32_t FamilyCount() const = 0;
  virtual ElementHash HashOf(const Pair& pair) const = 0;
  // Reads the pair of a key as it is now. Returns NotFound if there is none, or
  // none that may be shown.
  virtual absl::Status ReadPair(uint32_t family, std::string_view key,
                                Pair* pair) const = 0;
  // For the receiving half. Applies pairs as StorageView::Apply does, by what
  // the set-up agreed upon. Takes those out of `pairs` that are too large to be
  // kept here.
  virtual absl::Status Apply(std::vector<Pair>* pairs,
                             std::vector<ApplyOutcome>* outcomes) = 0;

  // Requests an exact session with the peer that begins after this call. Called
  // only on the side that dialed.
  virtual void BeginRepair() = 0;
  // Makes the sending half check soon whether there is something to be sent.
  virtual void Wake() = 0;

  // Runs `use` on what the two halves share, or on what all streams of the
  // replica share: nothing else uses it for the length of the call.
  virtual void WithDues(absl::FunctionRef<void(StreamDues*)> use) = 0;
  virtual void WithSpread(absl::FunctionRef<void(Spread*)> use) = 0;
  // These three do what those of Streams do (peering/streams.h).
  virtual std::vector<Neighbour> Neighbours(uint64_t* number) const = 0;
  virtual bool SetNeighbours(std::vector<Neighbour> neighbours) = 0;
  virtual bool AskForMissing(uint64_t now_ms) = 0;

  // For statistics: counts pairs sent, changes left to a session, pairs
  // received.
  virtual void NoteSent(uint64_t pairs) {}
  virtual void NoteGivenUp(uint64_t changes) {}
  virtual void NoteReceived(uint64_t pairs, uint64_t applied,
                            uint64_t duplicates, uint64_t held_back) {}

  // Requests a session that finds what the stream did not bring. The side that
  // dialed begins it; the other side asks the peer for it.
  void Repair();
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_STREAM_HOST_H_

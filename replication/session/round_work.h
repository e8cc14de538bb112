// The work on the candidates of a round: they are shipped or, in a session that
// only compares, listed.

#ifndef ROCKSYNC_REPLICATION_SESSION_ROUND_WORK_H_
#define ROCKSYNC_REPLICATION_SESSION_ROUND_WORK_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/messages.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"
#include "replication/session/turn.h"

namespace rocksync {

// The context of the work; all of it outlives the work.
struct RoundContext {
  StorageView* storage = nullptr;
  const StorageSnapshot* snapshot = nullptr;
  const std::function<bool()>* cancelled = nullptr;
  SessionReport* report = nullptr;
  // Null at a second look, which compares keys.
  LeafBatch* batch = nullptr;
  uint64_t peer_count = 0;  // elements the peer has in the batch

  bool Cancelled() const { return *cancelled && (*cancelled)(); }
};

// Ships or lists candidates. Grammar of use, on each side:
//   ( Build+ | Receive* EndTurn )*  until complete()
class RoundWork {
 public:
  virtual ~RoundWork() = default;

  // Takes a message of kOffers to kPairs, of kClaims or kHoldings.
  virtual absl::Status Receive(MessageType type, std::string_view body) = 0;
  // Ends the peer's turn; `idle`: the peer has only answers left to send.
  virtual absl::Status EndTurn(bool idle) = 0;

  // Adds what there is to send in this piece of the turn.
  virtual absl::Status Build(Turn* turn) = 0;
  // True after Build if the piece is full, and the same turn may go on with
  // another.
  virtual bool more() const { return false; }
  // True after Build if nothing is left to send but answers to what comes.
  virtual bool idle() const = 0;
  // True after Build if everything has been sent, and everything has come.
  virtual bool complete() const = 0;
  // True after EndTurn if the peer may claim to be complete.
  virtual bool may_end() const = 0;

  // True if this side, or the peer as far as it is known here, kept a pair
  // back.
  virtual bool refused() const = 0;
  // The number of pairs sent so far, both ways, in whatever form: the same on
  // both sides.
  virtual uint64_t entries() const = 0;
  // The number of these that are offers that were not wanted.
  virtual uint64_t in_vain() const { return 0; }
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ROUND_WORK_H_

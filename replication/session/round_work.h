// What becomes of the candidates of a round: they are shipped, or, in a session
// that only compares, listed.

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

// All of it outlives the work.
struct RoundContext {
  StorageView* storage = nullptr;
  const StorageSnapshot* snapshot = nullptr;
  const std::function<bool()>* cancelled = nullptr;
  SessionReport* report = nullptr;
  // Null at a second look, which is at keys.
  LeafBatch* batch = nullptr;
  uint64_t peer_count = 0;  // elements the peer has in the batch

  bool Cancelled() const { return *cancelled && (*cancelled)(); }
};

// Grammar of use, on each side:
//   ( Build+ | Receive* EndTurn )*  until complete()
class RoundWork {
 public:
  virtual ~RoundWork() = default;

  // One message of kOffers to kPairs, of kClaims or kHoldings.
  virtual absl::Status Receive(MessageType type, std::string_view body) = 0;
  // The peer's turn is over; `idle`: it has only answers left to send.
  virtual absl::Status EndTurn(bool idle) = 0;

  // Adds what there is to send in this piece of the turn.
  virtual absl::Status Build(Turn* turn) = 0;
  // After Build: the piece is full, and the same turn may go on with another.
  virtual bool more() const { return false; }
  // After Build: nothing is left to send but answers to what comes.
  virtual bool idle() const = 0;
  // After Build: everything has been sent, and everything has come.
  virtual bool complete() const = 0;
  // After EndTurn: the peer may claim to be complete.
  virtual bool may_end() const = 0;

  // This side, or the peer as far as it is known here, kept a pair back.
  virtual bool refused() const = 0;
  // Pairs sent so far, both ways, in whatever form: the same number on both
  // sides.
  virtual uint64_t entries() const = 0;
  // Of these, offers that were not wanted.
  virtual uint64_t in_vain() const { return 0; }
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ROUND_WORK_H_

// One anti-entropy session between two replicas, sans-IO: messages in,
// messages out, storage through a view. See docs/protocol.md.

#ifndef ROCKSYNC_REPLICATION_SESSION_SESSION_H_
#define ROCKSYNC_REPLICATION_SESSION_SESSION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/difference.h"
#include "replication/session/storage_view.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Limits that no application sets: sessions of replicas run with these values.
// Tests lower them, so that small sets meet them, too.
struct SessionLimits {
  // Of values and pairs a turn has more than max_turn_bytes, sent piece by
  // piece as they are read, so that a link is filled whatever its round-trip
  // time. After this many bytes the other side has its turn all the same.
  size_t max_streamed_bytes = size_t{1} << 30;
  // Values up to this size travel with the offer instead of being asked for.
  // Larger ones would save a turn, but values that lose would travel, too.
  // Peers may choose otherwise, so tests raise it.
  size_t inline_value_bytes = 0;
  // After this age the session ends at the next batch, without a proof, and the
  // caller starts another from a new snapshot.
  uint64_t max_snapshot_age_ms = 10 * 60 * 1000;
};

struct SessionOptions {
  ExchangeOptions exchange;
  // Elements held in memory at once on each side (24 bytes each); a larger
  // difference is worked off leaf batch by leaf batch.
  size_t max_batch_elements = size_t{1} << 20;
  // Most bytes one side sends before it is the other's turn, but for values and
  // pairs, and holds at once of what it sends.
  size_t max_turn_bytes = size_t{1} << 20;
  // A pair with a larger key or value is neither sent nor taken, and counted.
  // No message holds a key above kMaxKeyBytes, so that pair is never sent.
  size_t max_key_bytes = size_t{8} << 20;
  size_t max_value_bytes = size_t{64} << 20;
  SessionLimits limits;
};

// The least memory that a session can be bounded to.
inline constexpr size_t kLeastSessionBytes = size_t{4} << 20;

// Sets max_batch_elements and lowers max_turn_bytes so that a session holds no
// more than about `max_bytes` on this side, and beside that what one value
// takes: up to four times its size. `leaves`: of the storage. The peer may send
// turns of another size, and its bound on batches counts too, where it is less.
void BoundMemory(size_t max_bytes, size_t leaves, SessionOptions* options);

// What the initiator of a session that only compares wants to know.
struct VerifyTask {
  // Called for each key that differs; false: enough, the session may end. At a
  // second look called for each of `keys`, whether it differs or not.
  std::function<bool(Difference)> found;
  // A second look: family and key of all that is to be compared. Empty: all.
  std::vector<std::pair<uint32_t, std::string>> keys;
};

// What a session did, as seen from one side. Bytes are those of whole messages,
// the transport's framing excluded.
struct SessionReport {
  // Merged digests compared equal, and neither side leaves a pair out of them:
  // what applications read is the same.
  bool proven_equal = false;
  // Merged digests compared equal, whatever is left out of them.
  bool digests_equal = false;
  bool busy = false;     // the peer asked to come back later
  bool expired = false;  // snapshot too old; go on with a new session
  // One side cannot compare yet, as it builds its index.
  bool index_build = false;
  // Why one side is busy, or cannot compare now, in its words; may be empty.
  std::string why;
  bool refused = false;  // all went across but what one side refuses
  // Of a session that only compares, which never says proven_equal: all has
  // been compared. `differences` are counted by the initiator.
  bool verifying = false;
  bool compared = false;
  uint64_t differences = 0;
  Digest merged;  // of both sides when the digests compared equal
  // Pairs of each side's snapshot that are quarantined, and of which the other
  // has nothing in its set either. The peer's is known once the digests
  // compared equal.
  uint64_t left_out = 0;
  uint64_t peer_left_out = 0;
  uint64_t elements = 0;  // in this side's snapshot
  uint64_t elements_compared = 0;
  // Found so far, those that went included: see SessionProgress.
  uint64_t pairs_to_send = 0;
  uint64_t pairs_to_receive = 0;
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  uint64_t pairs_superseded = 0;  // received, but a newer one was here
  uint64_t pairs_held_back = 0;   // too far in the future
  uint64_t pairs_too_large = 0;   // neither sent nor taken
  uint64_t pairs_unreadable = 0;  // not sent: value or entry does not read here
  uint64_t key_bytes = 0;         // of pairs sent and received
  uint64_t value_bytes = 0;       // of values that travelled, losers too
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t filter_bytes = 0;  // exchange payloads, both directions
  // Offers and wants, both directions, without what counts as keys and values.
  uint64_t offer_bytes = 0;
  // Of bytes_sent: offers without an answer, which tells what of them is keys
  // and values of pairs that go.
  uint64_t unanswered_bytes = 0;
  uint32_t round_trips = 0;
  uint32_t exchanges = 0;  // run, leaf searches included
  uint32_t batches = 0;
  std::string plan;  // the exchanges' explanations (Explain in exchange.h)

  // So many bytes of an offer, whose message was counted as a whole, are of a
  // key that is wanted and of a value.
  void CountOffered(size_t offered_key_bytes, size_t offered_value_bytes) {
    key_bytes += offered_key_bytes;
    value_bytes += offered_value_bytes;
    offer_bytes -= offered_key_bytes + offered_value_bytes;
  }
};

// Grammar of use, the same on both sides:
//   ( NextMessage* Receive* )* until done().
// Strict turns: one side sends until NextMessage returns false, the other then
// receives all of it (the last message of a turn says so) and has the turn. So
// neither side can block the other. Memory is bounded on the sending side by a
// piece of a turn, which NextMessage reads when it is due, and on the receiving
// one since pairs and values are applied as they come. The initiator has the
// first turn. Not thread-safe.
class Session {
 public:
  virtual ~Session() = default;

  // Appends the next message to `*out` (which is cleared first) and returns
  // true; false when the turn is the peer's or the session is done. A storage
  // error surfaces from the next Receive or as status().
  virtual bool NextMessage(std::string* out) = 0;

  // To be called once all that NextMessage gave is sent, before waiting for the
  // peer: reads what its answer will most likely call for, while the peer reads
  // the same on its side. May be left out.
  virtual void ReadAhead() = 0;

  // InvalidArgument: the peer broke the protocol, the message says how. Other
  // codes: storage failed here, and the message says that it was this replica's
  // (unless it is only unavailable); NextMessage then returns what the peer is
  // to be told, even in the peer's turn, unless to the peer the session is over
  // already. Either way the session is over and nothing
  // applied so far is lost. An End of the peer, whose storage may have failed,
  // is accepted during this side's turn, too, and ends the session.
  virtual absl::Status Receive(std::string_view message) = 0;

  // To be called now and then while the peer has the turn and is alive, as at
  // its heartbeats. Not OK: this side cannot go on, as a family came or went;
  // then it is as after a Receive that failed.
  virtual absl::Status CheckWhileWaiting() = 0;

  virtual bool done() const = 0;
  virtual absl::Status status() const = 0;
  virtual const SessionReport& report() const = 0;
};

// Randomness of a connection: both sides' 16 bytes, initiator of the connection
// first. Sessions of one connection count up from 0; mapping seeds come from
// these, the session's number and a counter, so no nonce travels.
struct SessionSeed {
  std::array<uint8_t, 16> dialer_nonce;
  std::array<uint8_t, 16> listener_nonce;
  uint64_t session_number = 0;
};

// `now_ms` is a monotonic clock in milliseconds; `cancelled` is polled during
// long work. `storage` must outlive the session. A responder refuses with
// "busy" if `busy` is set.
struct SessionContext {
  StorageView* storage = nullptr;
  std::function<uint64_t()> now_ms;
  std::function<bool()> cancelled;
  // Called after every turn with the report so far; may be empty.
  std::function<void(const SessionReport&)> progress;
  bool busy = false;
  std::string busy_why;  // the peer is told; may be empty
  // Initiator: only compare. Must outlive the session.
  const VerifyTask* verify = nullptr;
  // Responder: refuses any other session than one that only compares.
  bool verify_only = false;
};
std::unique_ptr<Session> NewSession(Role role, const SessionOptions& options,
                                    const SessionSeed& seed,
                                    const SessionContext& context);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SESSION_H_

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
#include "rocksync/limits.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Limits that applications cannot set: sessions of replicas run with these
// values. Tests lower them, so that small sets reach them.
struct SessionLimits {
  // A turn that sends values and pairs ends after this many bytes, so that the
  // other side has its turn. Such a turn may exceed max_turn_bytes: it is sent
  // piece by piece as values are read, so that a link is filled whatever its
  // round-trip time.
  size_t max_streamed_bytes = size_t{1} << 30;
  // Values up to this size travel in the offer instead of being asked for.
  // Larger ones would save a turn, but values that lose would travel, too.
  // Peers may choose otherwise, so tests raise it.
  size_t inline_value_bytes = 0;
  // Once its snapshot is older, the session ends at the next round or batch,
  // without a proof, and the caller starts another from a new snapshot.
  uint64_t max_snapshot_age_ms = 10 * 60 * 1000;
};

struct SessionOptions {
  ExchangeOptions exchange;
  // Most elements of a leaf batch on each side, if all of them differ
  // (MaxBatchElements); a larger difference is worked off batch by batch.
  size_t max_batch_elements = size_t{1} << 20;
  // Most bytes that one side sends in a turn, values and pairs not counted, and
  // most bytes of outgoing messages that it holds in memory at once.
  size_t max_turn_bytes = size_t{1} << 20;
  // A pair with a larger key or value is neither sent nor taken, but counted.
  // No message holds a key above kMaxKeyBytes, so a pair with one is never
  // sent.
  size_t max_key_bytes = kMaxKeyBytes;
  size_t max_value_bytes = size_t{64} << 20;
  SessionLimits limits;
  // For tests: parities of leaves, and a search in finer ones, wherever these
  // are possible, whatever they save and take.
  bool eager_parities = false;
};

// A side takes part in a batch of which the peer holds so many times the
// elements that it compares at once itself.
inline constexpr uint64_t kMaxPeerBatchRatio = 4;

// The least memory that a session can be bounded to.
inline constexpr size_t kLeastSessionBytes = size_t{4} << 20;

// Sets max_batch_elements and lowers max_turn_bytes so that a session holds at
// most about `max_bytes` on this side, besides what one value takes: up to four
// times its size. `leaves`: how many the storage has. The peer may send turns
// of another size, and its bound on batches counts, too, if it is lower.
void BoundMemory(size_t max_bytes, size_t leaves, SessionOptions* options);

// Returns the most elements of a batch on each side of which about this share
// differs: up to twice max_batch_elements, since what differs takes as much
// memory again.
size_t MaxBatchElements(const SessionOptions& options, double share);

// Returns the most bytes of entries and values that are held in order to send,
// beside a batch of so many elements.
size_t MaxSendingBytes(const SessionOptions& options, size_t elements);

// The task of a session that only compares, as its initiator sets it.
struct VerifyTask {
  // Called for each key that differs, or, at a second look, for each of `keys`,
  // whether it differs or not. Returns false if the session may end: enough is
  // known.
  std::function<bool(Difference)> found;
  // Family and key of everything that a second look compares. Empty: all keys
  // are compared.
  std::vector<std::pair<uint32_t, std::string>> keys;
};

// What a session did, as seen from one side. Bytes are those of whole messages,
// the transport's framing excluded.
struct SessionReport {
  // The merged digests compared equal, and neither side leaves a pair out of
  // them: what applications read is the same.
  bool proven_equal = false;
  // The merged digests compared equal, whatever is left out of them.
  bool digests_equal = false;
  bool busy = false;     // the peer asked to come back later
  bool expired = false;  // snapshot too old; go on with a new session
  // One side cannot compare yet, because it builds its index.
  bool index_build = false;
  // The reason that a side gives for being busy or unable to compare; may be
  // empty.
  std::string why;
  bool refused = false;  // all was exchanged but what one side refuses
  // `verifying`: the session only compares, and never sets proven_equal.
  // `compared`: all has been compared. `differences` are counted by the
  // initiator.
  bool verifying = false;
  bool compared = false;
  uint64_t differences = 0;
  Digest merged;  // of both sides when the digests compared equal
  // Quarantined pairs of each side's snapshot for whose keys the other side has
  // nothing in its set either. The peer's number is known once the digests
  // compared equal.
  uint64_t left_out = 0;
  uint64_t peer_left_out = 0;
  uint64_t elements = 0;  // in this side's snapshot
  uint64_t elements_compared = 0;
  // Pairs that are known so far to be due in each direction, including those
  // already transferred: see SessionProgress.
  uint64_t pairs_to_send = 0;
  uint64_t pairs_to_receive = 0;
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  uint64_t pairs_superseded = 0;  // received, but this or a later one was here
  uint64_t pairs_held_back = 0;   // too far in the future
  uint64_t pairs_too_large = 0;   // neither sent nor taken
  uint64_t pairs_unreadable = 0;  // not sent or applied: unreadable here
  uint64_t key_bytes = 0;         // of pairs sent and received
  uint64_t value_bytes = 0;       // of values that travelled, losers too
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t filter_bytes = 0;  // exchange payloads, both directions
  // Bytes of offers, wants, claims and holdings in both directions, without
  // what counts as keys and values.
  uint64_t offer_bytes = 0;
  // Bytes of sent offers that are not answered yet; the answer tells which of
  // them count as keys and values.
  uint64_t unanswered_bytes = 0;
  uint32_t round_trips = 0;
  uint32_t exchanges = 0;  // exchanges run, leaf searches included
  uint32_t batches = 0;
  std::string plan;  // the exchanges' explanations (Explain in exchange.h)

  // Moves bytes of an offer, whose message was counted as a whole, from
  // offer_bytes to key_bytes (if the key is wanted) and value_bytes.
  void CountOffered(size_t offered_key_bytes, size_t offered_value_bytes) {
    key_bytes += offered_key_bytes;
    value_bytes += offered_value_bytes;
    offer_bytes -= offered_key_bytes + offered_value_bytes;
  }
};

// One side of a session. Grammar of use, the same on both sides:
//   ( NextMessage* Receive* )* until done().
// Turns are strict: one side sends until NextMessage returns false; the other
// receives all of it (the last message of a turn says so) and then has the
// turn. So neither side can block the other. Memory is bounded: the sender
// holds one piece of a turn, which NextMessage reads when it is due, and the
// receiver applies pairs and values as they come. The initiator has the first
// turn. Not thread-safe.
class Session {
 public:
  virtual ~Session() = default;

  // Clears `*out`, appends the next message to it and returns true; returns
  // false if the peer has the turn or the session is done. A storage error
  // surfaces from the next Receive or as status().
  virtual bool NextMessage(std::string* out) = 0;

  // Reads what the peer's answer will most likely call for, while the peer
  // reads the same on its side. To be called once all messages of NextMessage
  // are sent, before waiting for the peer. The call may be left out.
  virtual void ReadAhead() = 0;

  // Takes the peer's next message. Returns InvalidArgument if the peer broke
  // the protocol; the message says how. Other codes mean that this side cannot
  // go on; if its storage failed, and is not merely unavailable, the message
  // says that it was this replica's. NextMessage then returns what the peer is
  // to be told, even in the peer's turn, unless the session is already over for
  // the peer. After any error the session is over, and nothing applied so far
  // is lost. An End of the peer, whose storage may have failed, is accepted
  // during this side's turn, too, and ends the session.
  virtual absl::Status Receive(std::string_view message) = 0;

  // Returns an error if this side cannot go on because a family was created or
  // dropped; the session is then as after a Receive that failed. To be called
  // from time to time while the peer has the turn and is alive, as at its
  // heartbeats.
  virtual absl::Status CheckWhileWaiting() = 0;

  virtual bool done() const = 0;
  virtual absl::Status status() const = 0;
  virtual const SessionReport& report() const = 0;
};

// The randomness of a connection: 16 bytes of each side, the dialer's first.
// Sessions of one connection count up from 0. Mapping seeds are derived from
// these, the session's number and a counter, so no nonce travels.
struct SessionSeed {
  std::array<uint8_t, 16> dialer_nonce;
  std::array<uint8_t, 16> listener_nonce;
  uint64_t session_number = 0;
};

// The environment of a session. `now_ms` is a monotonic clock in milliseconds;
// `cancelled` is polled during long work. `storage` must outlive the session. A
// responder with `busy` set refuses with "busy".
struct SessionContext {
  StorageView* storage = nullptr;
  std::function<uint64_t()> now_ms;
  std::function<bool()> cancelled;
  // Called after every turn with the report so far; may be empty.
  std::function<void(const SessionReport&)> progress;
  bool busy = false;
  std::string busy_why;  // told to the peer; may be empty
  // Makes the initiator only compare. Must outlive the session.
  const VerifyTask* verify = nullptr;
  // Makes the responder refuse any session but one that only compares.
  bool verify_only = false;
};
std::unique_ptr<Session> NewSession(Role role, const SessionOptions& options,
                                    const SessionSeed& seed,
                                    const SessionContext& context);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SESSION_H_

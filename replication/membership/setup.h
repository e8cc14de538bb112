// The set-up of a connection between two replicas: once, before the first
// session, each says who it is and proves that it knows the cluster's secret,
// which is never sent. Sans-IO.
//
//   dialer    Setup                      Confirm
//   listener         Setup Confirm
//
// Either side may send a Refusal instead of its Confirm, with a reason and a
// text that names the remedy. The Confirm is a keyed hash over both Setups, so
// that nothing in them (a version range, say) can be changed on the way. A
// Refusal has such a hash too, over the reason and the text as well. So a peer
// that does not know the secret can end the connection, but nothing else.

#ifndef ROCKSYNC_REPLICATION_MEMBERSHIP_SETUP_H_
#define ROCKSYNC_REPLICATION_MEMBERSHIP_SETUP_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/membership/incarnation.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/session.h"
#include "sketch/element/element.h"

namespace rocksync {

// The protocol version that this code speaks (docs/protocol.md). A replica
// announces a range; this one's has a single version, as earlier ones were
// never released.
inline constexpr uint32_t kProtocolVersion = 6;

// The bits of SetupFacts::capabilities.
inline constexpr uint64_t kCapabilityStreams = 1;  // this side takes streams

struct SetupFamily {
  std::string name;
  std::string comparator;  // its Name()
  friend bool operator==(const SetupFamily&, const SetupFamily&) = default;
};

// What a replica says of itself in its Setup.
struct SetupFacts {
  std::string cluster;  // its name
  uint64_t replica_id = 0;
  IncarnationId incarnation;
  uint64_t first_clock = 0;  // the clock's reading at its start, see
                             // Incarnation
  uint64_t clock = 0;        // durable; no later incarnation starts from less
  IncarnationHistory past;
  GcState gc;
  uint64_t capabilities = 0;
  std::array<uint8_t, 16> nonce = {};  // fresh random bytes
  // The families in byte order of their names, which gives a session's
  // ordinals.
  std::vector<SetupFamily> families;
};

enum class RefusalReason : uint8_t {
  kProtocol = 1,           // no version in common
  kCluster = 2,            // the peer is of another cluster
  kSecret = 3,             // the cluster's secret differs
  kSameReplica = 4,        // one replica id twice
  kIdentity = 5,           // the transport authenticated another replica id
  kNotMember = 6,          // not in the member list
  kEpoch = 7,              // member lists that do not follow one another
  kRolledBack = 8,         // an incarnation that was superseded, or a copy
  kFamilies = 9,           // replicated families differ
  kComparator = 10,        // a family's comparator differs
  kOutOfReach = 11,        // may hold pairs that were deleted and collected
  kAcknowledgedMore = 12,  // the refused one acknowledged more than it now
                           // knows of; if that lasts, an older state of its
                           // disk is back
};

// What the peer is checked against. An empty function: no such check.
struct SetupPolicy {
  // The replica id that the transport authenticated; 0: none.
  uint64_t authenticated_id = 0;
  // Returns the latest incarnation that this replica remembers of another one.
  std::function<std::optional<Incarnation>(uint64_t replica_id)> remembered;
  // Returns what this replica and the peer are known to have said in their
  // present incarnations.
  std::function<ReportedByBoth(uint64_t replica_id,
                               const IncarnationId& incarnation)>
      said;
};

// One side of a set-up. Call order: ( NextMessage* Receive* )* until done().
// `Role::kInitiator` is the dialer. If done() and status() is OK, peer() and
// seed() are valid, and sessions may begin if verdict() allows it. If status()
// is not OK, what NextMessage still yields (a Refusal) should be sent before
// closing.
class Setup {
 public:
  Setup(Role role, SetupFacts mine, const ClusterSecret& secret,
        SetupPolicy policy);

  bool NextMessage(std::string* out);

  // Takes the peer's next message. Returns InvalidArgument if the peer does not
  // speak this protocol, and FailedPrecondition if one of the two refuses; the
  // status says why and what to do.
  absl::Status Receive(std::string_view message);

  bool done() const { return (state_ == State::kOver) && outbox_.empty(); }
  const absl::Status& status() const { return status_; }

  // Returns why the peer refuses, if it is the peer that does, and if it has
  // proven that it knows the secret. Otherwise there is only a status to
  // report: nothing durable may follow from it.
  std::optional<RefusalReason> refused() const { return refused_; }

  // Returns true if the peer says that it is this very replica, in another
  // incarnation: one of the two is a copy. To a dialer that is proven as for
  // refused(). A listener has heard no proof here: it must have had one before
  // the set-up (authentication.h).
  bool met_itself() const { return met_itself_; }

  // Returns true if this side refuses the peer as a copy, or an older state, of
  // a replica that was met.
  bool met_copy() const { return met_copy_; }

  // Returns true if one of the two found that the peer has heard this replica
  // acknowledge more than it now knows of. Proven as for met_itself(). False if
  // this replica has acknowledged more since it made its Setup, of which the
  // peer may have heard. The finding may still be transient: two set-ups of one
  // incarnation may cross on two connections.
  bool acknowledged_more() const { return acknowledged_more_; }

  const SetupFacts& peer() const { return peer_; }
  // Returns the verdict on the member lists. kSameList: sessions may begin.
  // kPeerNewer or kOursNewer: one side has the newer member list; Setup
  // installs nothing by itself, and the two should meet again.
  PeerVerdict verdict() const { return verdict_; }
  // Returns the seed for the sessions of this connection; count session_number
  // up from 0.
  SessionSeed seed() const;

 private:
  enum class State : uint8_t { kExpectSetup, kExpectConfirm, kOver };

  absl::Status ReceiveSetup(std::string_view message);
  absl::Status ReceiveConfirm(std::string_view body);
  absl::Status ReceiveRefusal(std::string_view body);
  absl::Status CheckPeer();
  absl::Status RefuseOwnIdentity();
  absl::Status CheckMembership();
  // Returns true if this replica has acknowledged more than this set-up says.
  bool HasAcknowledgedSince() const;
  absl::Status CheckIncarnations();
  absl::Status CheckIncarnation(const Incarnation& known);
  absl::Status CheckFamilies();
  absl::Status Refuse(RefusalReason reason, const std::string& text);
  // Returns the HMAC of both Setups, of the side that proves, and of what else
  // is said.
  std::string Proof(std::string_view label, Role of,
                    std::string_view said) const;
  std::string Confirmation(Role of) const;
  std::string RefusalProof(Role of, std::string_view said) const;
  void SendConfirm();

  const Role role_;
  const SetupFacts mine_;
  const ClusterSecret secret_;
  const SetupPolicy policy_;
  State state_ = State::kExpectSetup;
  absl::Status status_;
  std::optional<RefusalReason> refused_;
  bool met_itself_ = false;
  bool met_copy_ = false;
  bool acknowledged_more_ = false;
  SetupFacts peer_;
  PeerVerdict verdict_ = PeerVerdict::kSameList;
  std::string my_setup_;  // whole messages, for the confirmation
  std::string peer_setup_;
  std::deque<std::string> outbox_;
};

// Appends the body of a Setup:
//   "rocksync" | oldest | newest | cluster | replica id (8)
//   | incarnation counter | incarnation random (8) | first clock (8)
//   | clock (8) | epoch | stable time (8) | purged (8) | capabilities
//   | nonce (16) | families | families x (name | comparator)
//   | GcState (a string, see tombstone_gc.h), if the epoch is not 0
//   | past incarnations (see incarnation.h)
//   | what later versions add, ignored here
// Integers are varints unless a size is given; strings follow their length.
void EncodeSetup(const SetupFacts& facts, std::string* out);
// Returns FailedPrecondition if there is no protocol version in common.
absl::Status DecodeSetup(std::string_view body, SetupFacts* facts);

// Returns HMAC-SHA256 (RFC 2104) of `text`, cut to its first 16 bytes.
std::string Hmac128(const ClusterSecret& secret, std::string_view text);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_SETUP_H_

// How two replicas meet: once per connection, before the first session, each
// says who it is, and each proves that it knows the cluster's secret, which is
// never sent. Sans-IO.
//
//   dialer    Setup                      Confirm
//   listener         Setup Confirm
//
// Either may send a Refusal instead of its Confirm, with a reason and a text
// that names the remedy. The Confirm is a keyed hash over both Setups, so that
// nothing in them (a version range, say) can be changed on the way. A Refusal
// has one too, over the reason and the text as well: whoever does not know the
// secret can end the connection, and that is all.

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

// The version of the protocol spoken here (docs/protocol.md). A replica says a
// range; this one's is of one version, as earlier ones were never released.
inline constexpr uint32_t kProtocolVersion = 6;

// The bits of SetupFacts::capabilities.
inline constexpr uint64_t kCapabilityStreams = 1;  // this side takes streams

struct SetupFamily {
  std::string name;
  std::string comparator;  // its Name()
  friend bool operator==(const SetupFamily&, const SetupFamily&) = default;
};

// What a replica says of itself.
struct SetupFacts {
  std::string cluster;  // its name
  uint64_t replica_id = 0;
  IncarnationId incarnation;
  uint64_t first_clock = 0;  // the clock's reading at its start, as in
                             // Incarnation
  uint64_t clock = 0;  // durable: no later incarnation of it starts from less
  IncarnationHistory past;
  GcState gc;
  uint64_t capabilities = 0;
  std::array<uint8_t, 16> nonce = {};  // fresh random bytes
  // In the order of their names' bytes: the ordinals of a session.
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
  kOutOfReach = 11,        // it may hold pairs that were deleted and collected
  kAcknowledgedMore = 12,  // you acknowledged more than you know of: an older
                           // state of your disk is back, if it goes on
};

// What the peer is held against. Empty functions: no such check.
struct SetupPolicy {
  // The replica id that the transport authenticated; 0: it does not.
  uint64_t authenticated_id = 0;
  // The latest incarnation that this replica remembers of another.
  std::function<std::optional<Incarnation>(uint64_t replica_id)> remembered;
  // What both are known to have said in their present incarnations.
  std::function<ReportedByBoth(uint64_t replica_id,
                               const IncarnationId& incarnation)>
      said;
};

// Grammar of use, on both sides: ( NextMessage* Receive* )* until done().
// `Role::kInitiator` is the dialer. If done() and status() is OK, peer() and
// seed() are valid and sessions may begin. If status() is not OK, what
// NextMessage still yields (a Refusal) should be sent before closing.
class Setup {
 public:
  Setup(Role role, SetupFacts mine, const ClusterSecret& secret,
        SetupPolicy policy);

  bool NextMessage(std::string* out);

  // InvalidArgument: the peer does not speak this protocol. FailedPrecondition:
  // one of the two refuses; the message says why and what to do.
  absl::Status Receive(std::string_view message);

  bool done() const { return (state_ == State::kOver) && outbox_.empty(); }
  const absl::Status& status() const { return status_; }

  // Why the peer refuses, if it is the peer who does, and if it has proven that
  // it knows the secret. Else there is only a status, to be reported: nothing
  // that lasts may follow from it.
  std::optional<RefusalReason> refused() const { return refused_; }

  // The peer says that it is this very replica, in another incarnation: one of
  // the two is a copy. To a dialer that is proven as above. A listener has
  // heard no proof here: it must have had one before the set-up
  // (authentication.h).
  bool met_itself() const { return met_itself_; }

  // This side refuses the peer, since it is a copy of a replica that was met,
  // or an older state of it.
  bool met_copy() const { return met_copy_; }

  // The peer has heard this replica acknowledge more than it now knows of, as
  // one of the two has found. Proven as above. Not if it has acknowledged more
  // since it made its set-up, of which the peer may have heard. Still, this may
  // pass: two set-ups of one incarnation may cross on two connections.
  bool acknowledged_more() const { return acknowledged_more_; }

  const SetupFacts& peer() const { return peer_; }
  // kSameList: sessions may begin. kPeerNewer or kOursNewer: one side has the
  // newer member list; it installs nothing by itself, and the two should meet
  // again.
  PeerVerdict verdict() const { return verdict_; }
  // For the sessions of this connection; count session_number up from 0.
  SessionSeed seed() const;

 private:
  enum class State : uint8_t { kExpectSetup, kExpectConfirm, kOver };

  absl::Status ReceiveSetup(std::string_view message);
  absl::Status ReceiveConfirm(std::string_view body);
  absl::Status ReceiveRefusal(std::string_view body);
  absl::Status CheckPeer();
  absl::Status RefuseOwnIdentity();
  absl::Status CheckMembership();
  // More than this set-up says.
  bool HasAcknowledgedSince() const;
  absl::Status CheckIncarnations();
  absl::Status CheckIncarnation(const Incarnation& known);
  absl::Status CheckFamilies();
  absl::Status Refuse(RefusalReason reason, const std::string& text);
  // HMAC of both Setups, by whom, and what else is said.
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

// The body of a Setup:
//   "rocksync" | oldest | newest | cluster | replica id (8)
//   | incarnation counter | incarnation random (8) | first clock (8)
//   | clock (8) | epoch | stable time (8) | purged (8) | capabilities
//   | nonce (16) | families | families x (name | comparator)
//   | GcState (a string, see tombstone_gc.h), if the epoch is not 0
//   | past incarnations (see incarnation.h)
//   | what later versions add, ignored here
// Integers are varints, fixed ones in parentheses, strings after their length.
void EncodeSetup(const SetupFacts& facts, std::string* out);
// FailedPrecondition: no protocol version in common.
absl::Status DecodeSetup(std::string_view body, SetupFacts* facts);

// HMAC-SHA256 (RFC 2104) of `text`, cut to its first 16 bytes.
std::string Hmac128(const ClusterSecret& secret, std::string_view text);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_SETUP_H_

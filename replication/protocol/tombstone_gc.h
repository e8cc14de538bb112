// Tombstone garbage collection: which tombstones every member durably holds, so
// that all may drop them. Pure arithmetic on a replica's knowledge of the other
// members; no storage, no clock, no thread. docs/design.md ("Tombstone garbage
// collection") has the argument.
//
// A *reading* of a replica X is a value of its clock: all versions that X
// issued so far are at most it, all that X ever issues later are greater, over
// restarts too. So one number stands for "what X held at that moment".
//
//   summary[X]       a reading of X: this replica durably holds everything that
//                    X held at it, or something newer for the key
//   acknowledged[Y]  the smallest of Y's summary[], as Y said: Y never takes
//                    it back
//   stable time      the smallest of acknowledged[]: every member durably holds
//                    every tombstone with a version up to it, so all may drop
//                    those
//   incarnations[X]  the incarnation of X that all of this is about, as far as
//                    X goes
//
// The summary vector and the acknowledgement vector are those of Golding's
// timestamped anti-entropy (R. A. Golding, "Weak-consistency group
// communication and membership", 1992), extended by member lists, incarnations
// and durability.
//
// Two replicas may run under one identity, a copy and its original; what they
// hold are two things. So a replica that says something of a third one names
// the incarnation of the third, and what is said of two incarnations that do
// not follow one another is never put together.
//
// All of it belongs to one member list. A newer list (a larger epoch) starts
// summary[] and acknowledged[] at 0: what a member that has left handed on late
// is covered only by readings taken after its receiver adopted the newer list.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_TOMBSTONE_GC_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_TOMBSTONE_GC_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "replication/protocol/incarnation.h"

namespace rocksync {

inline constexpr size_t kMaxMembers = 1024;

struct Member {
  uint64_t replica_id = 0;
  uint64_t since = 0;  // the epoch from which on it was listed without a gap
  friend bool operator==(const Member&, const Member&) = default;
};

// Epoch 0: no list, and nothing is collected.
struct MemberList {
  uint64_t epoch = 0;
  std::vector<Member> members;  // by ascending replica id, none twice

  // The position of a replica in `members`.
  std::optional<size_t> Find(uint64_t replica_id) const;
  friend bool operator==(const MemberList&, const MemberList&) = default;
};

// How far an epoch may be above the one before: lists are set one after the
// other, and after a slip to the largest number there could be no other.
inline constexpr uint64_t kMaxEpochLeap = uint64_t{1} << 32;

// The list that an operator asks for on replica `self`, following `now`.
// InvalidArgument: the epoch is not newer, or leaps ahead, `self` is missing,
// there are too many members, or an id is 0 or there twice.
absl::StatusOr<MemberList> SucceedingList(const MemberList& now, uint64_t epoch,
                                          std::vector<uint64_t> replica_ids,
                                          uint64_t self);

struct StableTime {
  uint64_t time = 0;   // a Version.time; 0: nothing is collected
  uint64_t epoch = 0;  // in which it was reached
  friend bool operator==(const StableTime&, const StableTime&) = default;
};

// What one replica knows; also what it says of itself to a peer.
//
// Two replicas compare by the stable time, which may fall back in a newer list.
// The two marks after it only grow, in every list: guards go by them.
struct GcState {
  MemberList list;
  uint64_t stable_time = 0;  // see StableTime
  uint64_t stable_epoch = 0;
  // The largest stable time that anybody is known to have had: tombstones up to
  // it may be gone from somebody's index. Of a replica that is unproven: its
  // data hold nothing that those have deleted. A copy keeps what it had when it
  // was made.
  uint64_t purged = 0;
  // The stable time of the latest epoch in which a member is known to have
  // reached one, the largest of that epoch: the members of that time
  // acknowledged as much.
  StableTime reached;
  // The most that this replica has acknowledged, in any list. It only grows, so
  // a peer that has heard of a larger value knows that an older state of its
  // disk is back, even if a newer list was set on that.
  uint64_t max_acknowledged = 0;
  // Came into the list with data of its own, or took pairs of one that did
  // while it was bootstrapping, and has not been proven equal to a member that
  // is neither, nor to all: it may hold pairs that others deleted and
  // collected.
  bool unproven = false;
  // Came into the list empty, and has not been proven equal to such a member:
  // it may lack tombstones that all members before it hold.
  bool bootstrapping = false;
  std::vector<uint64_t> summary;       // by the list's order
  std::vector<uint64_t> acknowledged;  // by the list's order
  // By the list's order; counter 0: nothing is known. All that is known of a
  // member's readings, at whatever replica it was first noted, was said in this
  // incarnation, up to `clock`, or in incarnations that it follows, before they
  // ended. A replica knows its own incarnation best; there `clock` says
  // nothing.
  std::vector<Incarnation> incarnations;
  friend bool operator==(const GcState&, const GcState&) = default;
};

// flags (1): bit 0 unproven, bit 1 with incarnations, bit 2 bootstrapping
// | epoch | stable time (8) | stable time epoch | purged (8) | reached (8)
// | its epoch | max acknowledged (8) | members
// | members x (replica id (8) | since | summary (8) | acknowledged (8))
// | with incarnations: members x (counter, and unless it is 0: random (8)
//   | first clock (8) | clock (8) | past since | past incarnations
//   | past incarnations x (counter | random (8) | next clock (8)))
// Integers are varints, fixed ones in parentheses. Decoding consumes all of
// `bytes` and is false for anything that no encoder makes.
inline constexpr size_t kMaxGcStateBytes =
    104 + (34 + 45 + 26 * kMaxPastIncarnations) * kMaxMembers;
void EncodeGcState(const GcState& gc, std::string* out);
[[nodiscard]] bool DecodeGcState(std::string_view bytes, GcState* gc);

// What a replica says of itself at set-up and, on a connection that lasts,
// between sessions.
struct Announcement {
  uint64_t reading = 0;
  GcState gc;
};
// A message of its own: head | reading (8) | GcState.
std::string EncodeAnnouncement(const Announcement& announcement);
[[nodiscard]] bool DecodeAnnouncement(std::string_view message,
                                      Announcement* announcement);

// Whether two replicas may talk, by their member lists.
enum class Meeting : uint8_t {
  kAlike,       // one list: sessions may begin
  kLearn,       // the peer's is newer and has a place for this replica: adopt
                // it, and meet again
  kTeach,       // the other way round
  kNotMember,   // one of the two is not in the newer list
  kConflict,    // two lists that cannot follow one another
  kOutOfReach,  // one may hold pairs that the other has deleted and collected
  kRolledBack,  // one acknowledged more than it now knows of: an older state of
                // its disk is back
};
struct MeetingVerdict {
  Meeting meeting = Meeting::kAlike;
  std::string why;           // and the remedy, if they may not talk
  uint64_t rolled_back = 0;  // kRolledBack: which of the two
};

// What a replica is known to have said of itself in its present incarnation.
// Messages of one incarnation may be overtaken on another connection; then the
// older one does not show that the replica went back.
struct Said {
  uint64_t reading = 0;
  uint64_t max_acknowledged = 0;
};
struct SaidByBoth {
  Said mine;
  Said theirs;
};

// What members said last, each in its present incarnation. Not durable: what is
// overtaken has been said a moment ago.
class Sayings {
 public:
  // A member of the list that it says it has.
  void Note(uint64_t replica_id, const IncarnationId& incarnation,
            const Announcement& said);
  Said Of(uint64_t replica_id, const IncarnationId& incarnation) const;

 private:
  struct Last {
    IncarnationId incarnation;
    Said said;
  };
  std::map<uint64_t, Last> last_;  // by replica id
};

// Both sides come to the same verdict, kLearn and kTeach exchanged, unless one
// of them knows that a message was overtaken.
MeetingVerdict Judge(const GcState& mine, uint64_t my_id, const GcState& peer,
                     uint64_t peer_id, const SaidByBoth& said = {});

// An operator sets this list here, and thereby confirms the data.
void Found(const MemberList& list, GcState* mine);

// What a copy of a replica that knows this still knows as a new replica. It is
// in no list. What it lacks remains collected, and its data are as old as they
// are. Marks keep their epochs, or replicas that meet it no longer recognise an
// older state of a member's disk.
GcState AsNewReplica(const GcState& copied);

// After kLearn: takes over the peer's list. `has_data`: this replica holds
// anything at all. kOutOfReach: it is new in the list, and its data may have
// been deleted and collected; nothing changes. Else kAlike.
//
// A replica that has taken over a list, by Found or by Join, must give no
// reading from now on that is not greater than its own before it and, by Join,
// than the peer's: so all stable times of the list are greater than those of
// earlier ones. Nor may a replica that is new issue a version up to there,
// since tombstones may be collected without it.
MeetingVerdict Join(const GcState& peer, uint64_t my_id, bool has_data,
                    GcState* mine);

// The stable time that two replicas with one list compare by. Within an epoch
// it only grows. One that was reached in an earlier epoch may have been reached
// without a new member of this one, whose tombstones it would hide, so of two
// such the smaller counts: to hold a tombstone again that was dropped does no
// harm. What was dropped does not return by that, since guards go by `purged`.
StableTime Agree(const StableTime& a, const StableTime& b, uint64_t epoch);
inline StableTime StableTimeOf(const GcState& gc) {
  return {gc.stable_time, gc.stable_epoch};
}

// What two replicas that meet have agreed upon: their list, the stable time
// that they compare by, and the mark that they held each other against. Once
// one of them is no longer as it was then, they have to meet anew.
struct Terms {
  uint64_t epoch = 0;
  uint64_t stable_time = 0;
  uint64_t purged = 0;
  bool unproven = false;  // this replica
  friend bool operator==(const Terms&, const Terms&) = default;
};
// Whether what two agreed upon still holds for a replica with these terms now.
// One that was unproven, and is not any more, may go on.
inline bool StillHold(const Terms& agreed, const Terms& now) {
  return agreed.epoch == now.epoch && agreed.stable_time == now.stable_time &&
         agreed.purged == now.purged && (agreed.unproven || !now.unproven);
}
inline Terms TermsOf(const GcState& gc) {
  return {gc.list.epoch, gc.stable_time, gc.purged, gc.unproven};
}

// Takes over what the peer, as Heard, knows others to have acknowledged, unless
// the two know some member by incarnations that do not follow one another: then
// that member's id is returned, else 0. REQUIRES: one list.
uint64_t Hear(const GcState& peer, uint64_t my_id, GcState* mine);

// Two replicas that may meet (kAlike) said `said` and `peer` of themselves: the
// terms of it. The replica that said `said` knows `*now` by now; it takes over
// that stable time, or a later one that it agreed upon with others meanwhile,
// and what the peer knows. `identity_conflict`: see Hear.
Terms AgreeOnTerms(const GcState& said, const GcState& peer, uint64_t my_id,
                   GcState* now, uint64_t* identity_conflict);

// A session proved the two equal, and this side has synced since. `my_reading`,
// `peer_reading` and `peer` are what was said before either took the session's
// snapshot. Counts for nothing if the peer's incarnation is over by what is
// known now. REQUIRES: one list, with both in it.
void Proved(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
            uint64_t peer_reading, const GcState& peer, GcState* mine);

// The peer's reading is smaller than one that it gave before: it was rolled
// back, even if it is met for the first time. `said`: what it has said itself
// in this incarnation.
bool WentBack(const GcState& mine, uint64_t peer_id, uint64_t peer_reading,
              const Said& said);

// What a peer said, as it is taken here: its own incarnation up to its reading,
// and of all readings no more than `trusted` makes of them.
GcState Heard(const Announcement& said, uint64_t peer_id,
              const std::function<uint64_t(uint64_t reading)>& trusted);

// Whether the peer, as Heard, says that it runs in the incarnation in which it
// was met, and goes on where all that is known of it ended. If not, an older
// state of its disk is back, or a copy runs beside it, even if it is met for
// the first time.
bool Continues(const GcState& mine, uint64_t peer_id,
               const IncarnationId& incarnation, const GcState& peer);

// The peer, met in this incarnation, hands on pairs of which the latest that it
// issued itself is of `time` (0: none). They may be later than its reading, so
// what is known of the incarnation goes as far from now on. False: by what was
// heard since, the incarnation is over, and the pairs are not to be taken.
bool RecordSource(uint64_t peer_id, const IncarnationId& incarnation,
                  uint64_t time, GcState* mine);

// What this replica says of its own incarnation. No effect outside a list.
void SetOwnIncarnation(uint64_t my_id, const Incarnation& incarnation,
                       GcState* mine);

// How far the stable time could be now.
uint64_t Attainable(const GcState& mine);

// Whether to move it there, if so many tombstones of so many elements would go.
// A new stable time makes leaves be read again.
constexpr bool WorthCollecting(uint64_t tombstones, uint64_t elements) {
  constexpr uint64_t kShare = 50;  // 1 in this many
  return tombstones > 0 && tombstones >= elements / kShare;
}

// Moves the stable time there; false if that is no gain.
bool Advance(GcState* mine);

// Of the other members, the one that keeps the stable time from growing: the
// one of whom this replica has the oldest reading, or else the one that has
// acknowledged the least. 0: none does.
uint64_t HeldUpBy(const GcState& mine, uint64_t my_id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_TOMBSTONE_GC_H_

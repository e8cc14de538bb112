// When a tombstone may be forgotten: who holds what, for sure and for good.
// Pure arithmetic on a replica's knowledge of the other members; no storage,
// no clock, no thread. docs/design.md ("Forgetting deletes") has the argument.
//
// A *reading* of a replica X is a value of its clock: all versions that X
// issued so far are at most it, all that X ever issues later are greater, over
// restarts too. So one number stands for "what X held at that moment".
//
//   holds[X]    what this replica durably holds everything of that X held at
//               this reading, or something newer for the key
//   vouched[Y]  the smallest of Y's holds[], as Y said: a promise for good
//   horizon     the smallest of vouched[]: every member durably holds every
//               tombstone with a version up to it, so all may drop those
//   lives[X]    the life of X that all of this is about, as far as X goes
//
// Two may run under one identity, a copy and its original; what they hold are
// two things. So whoever says something of a third names its life, and what is
// said of two lives that do not follow one another is never put together.
//
// All of it belongs to one member list. A newer list (a larger epoch) starts
// holds[] and vouched[] at 0: what a member that left handed on late is covered
// only by readings taken after the one who got it adopted the newer list.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_FORGETTING_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_FORGETTING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "replication/protocol/life.h"

namespace rocksync {

inline constexpr size_t kMaxMembers = 1024;

struct Member {
  uint64_t replica_id = 0;
  uint64_t since = 0;  // the epoch from which on it was listed without a gap
  friend bool operator==(const Member&, const Member&) = default;
};

// Epoch 0: no list, and nothing is forgotten.
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

struct Horizon {
  uint64_t time = 0;   // a Version.time; 0: nothing is forgotten
  uint64_t epoch = 0;  // in which it was reached
  friend bool operator==(const Horizon&, const Horizon&) = default;
};

// What one replica knows; also what it says of itself to a peer.
//
// The horizon is what two compare by, and may fall back in a newer list. The
// two marks after it only grow, in every list: guards go by them.
struct Forgetting {
  MemberList list;
  uint64_t horizon = 0;  // see Horizon
  uint64_t horizon_epoch = 0;
  // The largest horizon that anybody is known to have had: tombstones up to it
  // may be gone from somebody's index. Of a replica that is unproven: its data
  // hold nothing that those have deleted. A copy keeps what it had when it was
  // made.
  uint64_t purged = 0;
  // The horizon of the latest epoch in which a member is known to have reached
  // one, the largest of that epoch: members of the time vouched for as much.
  Horizon reached;
  // The most that this replica has vouched for, in any list. It only grows, so
  // whoever has heard of more of it knows that an older state of its disk is
  // back, even if a newer list was set on that.
  uint64_t promised = 0;
  // Came into the list with data of its own, or took pairs of one that did
  // while it was filling, and has not been proven equal to a member that is
  // neither, nor to all: it may hold pairs that others deleted and forgot.
  bool unproven = false;
  // Came into the list empty, and has not been proven equal to such a member:
  // it may lack tombstones that all members before it hold.
  bool filling = false;
  std::vector<uint64_t> holds;    // by the list's order
  std::vector<uint64_t> vouched;  // by the list's order
  // By the list's order; counter 0: nothing is known. All that is known of a
  // member's readings, at whatever replica it was first noted, was said in this
  // life, up to `clock`, or in lives that it follows, before they ended. Its
  // own a replica knows best; there `clock` says nothing.
  std::vector<Life> lives;
  friend bool operator==(const Forgetting&, const Forgetting&) = default;
};

// flags (1): bit 0 unproven, bit 1 with lives, bit 2 filling | epoch
// | horizon (8) | horizon epoch | purged (8) | reached (8) | its epoch |
// promised (8) | members | members x (replica id (8) | since | holds (8) |
// vouched (8)) | with lives: members x (counter, and unless it is 0: random (8)
//   | first clock (8) | clock (8) | past since | lives
//   | lives x (counter | random (8) | next clock (8)))
// Integers are varints, fixed ones in parentheses. Decoding consumes all of
// `bytes` and is false for anything that no encoder makes.
inline constexpr size_t kMaxForgettingBytes =
    104 + (34 + 45 + 26 * kMaxPastLives) * kMaxMembers;
void EncodeForgetting(const Forgetting& forgetting, std::string* out);
[[nodiscard]] bool DecodeForgetting(std::string_view bytes,
                                    Forgetting* forgetting);

// What a replica says of itself at set-up and, on a connection that lasts,
// between sessions.
struct Announcement {
  uint64_t reading = 0;
  Forgetting forgetting;
};
// A message of its own: head | reading (8) | forgetting.
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
  kOutOfReach,  // one may hold pairs that the other has deleted and forgotten
  kRolledBack,  // one has promised more than it now knows of: an older state of
                // its disk is back
};
struct MeetingVerdict {
  Meeting meeting = Meeting::kAlike;
  std::string why;           // and the remedy, if they may not talk
  uint64_t rolled_back = 0;  // kRolledBack: which of the two
};

// What a replica is known to have said of itself in the life that it lives now.
// Messages of one life may be overtaken on another connection; then the older
// one does not show that the replica went back.
struct Said {
  uint64_t reading = 0;
  uint64_t promised = 0;
};
struct SaidByBoth {
  Said mine;
  Said theirs;
};

// What members said last, each in the life that it lives now. Not durable:
// what is overtaken has been said a moment ago.
class Sayings {
 public:
  // A member of the list that it says it has.
  void Note(uint64_t replica_id, const Incarnation& life,
            const Announcement& said);
  Said Of(uint64_t replica_id, const Incarnation& life) const;

 private:
  struct Last {
    Incarnation life;
    Said said;
  };
  std::map<uint64_t, Last> last_;  // by replica id
};

// Both sides come to the same verdict, kLearn and kTeach exchanged, unless one
// of them knows that a message was overtaken.
MeetingVerdict Judge(const Forgetting& mine, uint64_t my_id,
                     const Forgetting& peer, uint64_t peer_id,
                     const SaidByBoth& said = {});

// An operator sets this list here, and by that vouches for the data.
void Found(const MemberList& list, Forgetting* mine);

// What a copy of whoever knows this still knows as a new replica. It is in no
// list. What it lacks is forgotten still, and its data are as old as they are.
// Marks keep their epochs, or those who meet it no longer recognise an older
// state of a member's disk.
Forgetting AsNewReplica(const Forgetting& copied);

// After kLearn: takes over the peer's list. `has_data`: this replica holds
// anything at all. kOutOfReach: it is new in the list, and its data may have
// been deleted and forgotten; nothing changes. Else kAlike.
//
// Whoever has taken over a list, by Found or by Join, must give no reading from
// now on that is not greater than its own before it and, by Join, than the
// peer's: so all horizons of the list are greater than those of earlier ones.
// Nor may a replica that is new issue a version up to there, since tombstones
// may be forgotten without it.
MeetingVerdict Join(const Forgetting& peer, uint64_t my_id, bool has_data,
                    Forgetting* mine);

// The horizon that two replicas with one list compare by. Within an epoch it
// only grows. One that was reached in an earlier epoch may have been reached
// without a newcomer of this one, whose tombstones it would hide, so of two
// such the smaller counts: to hold a tombstone again that was dropped does no
// harm. What was dropped does not return by that, since guards go by `purged`.
Horizon Agree(const Horizon& a, const Horizon& b, uint64_t epoch);
inline Horizon HorizonOf(const Forgetting& forgetting) {
  return {forgetting.horizon, forgetting.horizon_epoch};
}

// What two that meet have agreed upon: their list, the horizon that they
// compare by, and the mark that they held each other against. Once one of them
// is no longer as it was then, they have to meet anew.
struct Terms {
  uint64_t epoch = 0;
  uint64_t horizon = 0;
  uint64_t purged = 0;
  bool unproven = false;  // this replica
  friend bool operator==(const Terms&, const Terms&) = default;
};
// Whether what two agreed upon still holds for a replica with these terms now.
// One that was unproven, and is not any more, may go on.
inline bool StillHold(const Terms& agreed, const Terms& now) {
  return agreed.epoch == now.epoch && agreed.horizon == now.horizon &&
         agreed.purged == now.purged && (agreed.unproven || !now.unproven);
}
inline Terms TermsOf(const Forgetting& forgetting) {
  return {forgetting.list.epoch, forgetting.horizon, forgetting.purged,
          forgetting.unproven};
}

// Takes over what the peer, as Heard, knows others to have vouched for, unless
// the two know some member by lives that do not follow one another: then that
// member's id is returned, else 0. REQUIRES: one list.
uint64_t Hear(const Forgetting& peer, uint64_t my_id, Forgetting* mine);

// Two that may meet (kAlike) said `said` and `peer` of themselves: the terms of
// it. Whoever said `said` knows `*now` by now; it takes over that horizon, or a
// later one that it agreed upon with others meanwhile, and what the peer knows.
// `two_lives`: see Hear.
Terms AgreeUpon(const Forgetting& said, const Forgetting& peer, uint64_t my_id,
                Forgetting* now, uint64_t* two_lives);

// A session proved the two equal, and this side has synced since. `my_reading`,
// `peer_reading` and `peer` are what was said before either took the session's
// snapshot. Counts for nothing if the peer's life is over by what is known now.
// REQUIRES: one list, with both in it.
void Proved(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
            uint64_t peer_reading, const Forgetting& peer, Forgetting* mine);

// The peer's reading is smaller than one that it gave before: it was rolled
// back, even if it is met for the first time. `said`: what it has said itself
// in this life.
bool WentBack(const Forgetting& mine, uint64_t peer_id, uint64_t peer_reading,
              const Said& said);

// What a peer said, as it is taken here: its own life up to its reading, and of
// all readings no more than `trusted` makes of them.
Forgetting Heard(const Announcement& said, uint64_t peer_id,
                 const std::function<uint64_t(uint64_t reading)>& trusted);

// Whether the peer, as Heard, says that it lives the life in which it was met,
// and goes on where all that is known of it ended. If not, an older state of
// its disk is back, or a copy runs beside it, even if it is met for the first
// time.
bool GoesOn(const Forgetting& mine, uint64_t peer_id, const Incarnation& life,
            const Forgetting& peer);

// The peer, met in this life, hands on pairs of which the latest that it issued
// itself is of `time` (0: none). They may be later than its reading, so what is
// known of the life goes as far from now on. False: by what was heard since,
// the life is over, and the pairs are not to be taken.
bool TakesFrom(uint64_t peer_id, const Incarnation& life, uint64_t time,
               Forgetting* mine);

// What this replica says of its own life. No effect outside a list.
void SetOwnLife(uint64_t my_id, const Life& life, Forgetting* mine);

// How far the horizon could be now.
uint64_t Attainable(const Forgetting& mine);

// Whether to move it there, if so many tombstones of so many elements would go.
// A new horizon makes leaves be read again.
constexpr bool WorthForgetting(uint64_t tombstones, uint64_t elements) {
  constexpr uint64_t kShare = 50;  // 1 in this many
  return tombstones > 0 && tombstones >= elements / kShare;
}

// Moves the horizon there; false if that is no gain.
bool Advance(Forgetting* mine);

// Of the other members, the one that keeps the horizon from growing: the one of
// whom this replica has the oldest reading, or else the one that has vouched
// for least. 0: none does.
uint64_t HeldUpBy(const Forgetting& mine, uint64_t my_id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_FORGETTING_H_

// Tombstone garbage collection: which tombstones every member durably holds, so
// that all may drop them. A replica's knowledge of the other members, and what
// it decides by that; no storage, no clock, no thread. docs/membership.md has
// the argument, and a table of all verdicts.
//
// A *reading* of a replica X is a value of its clock: all versions that X
// issued so far are at most it, all that X ever issues later are greater, over
// restarts too. So one number stands for "what X held at that moment".
//
// The summary and acknowledgement vectors are those of Golding's timestamped
// anti-entropy (R. A. Golding, "Weak-consistency group communication and
// membership", 1992), extended by member lists, incarnations and durability.
//
// A copy may run under the identity of its original, and the two hold different
// data. So a replica that says something of a third one names the incarnation
// of the third, and statements on two incarnations of which neither follows the
// other are never merged.

#ifndef ROCKSYNC_REPLICATION_MEMBERSHIP_TOMBSTONE_GC_H_
#define ROCKSYNC_REPLICATION_MEMBERSHIP_TOMBSTONE_GC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/membership/incarnation.h"
#include "rocksync/limits.h"

namespace rocksync {

// How far an epoch may be above the one before: lists are set one after the
// other, and after a slip to the largest number there could be no other.
inline constexpr uint64_t kMaxEpochLeap = uint64_t{1} << 32;

// A member of the list, and what is known of it. All but the first two begins
// at nothing in each list: what a member that has left handed on late is
// covered only by readings taken after its receiver installed the newer list.
struct Member {
  uint64_t replica_id = 0;
  uint64_t since = 0;  // the epoch from which on it was listed without a gap
  // A reading of the member: this replica durably holds everything that the
  // member held at it, or something newer for the key.
  uint64_t summary = 0;
  // The smallest of the member's own summaries, as the member said. It never
  // takes that back.
  uint64_t acknowledged = 0;
  // Counter 0: nothing is known. All that is known of the member's readings, at
  // whatever replica it was first noted, was said in this incarnation, up to
  // `clock`, or in incarnations that it follows, before they ended. A replica
  // knows its own incarnation best; there `clock` says nothing.
  Incarnation incarnation = {};
  friend bool operator==(const Member&, const Member&) = default;
};

struct StableTime {
  uint64_t time = 0;   // a Version.time; 0: nothing is collected
  uint64_t epoch = 0;  // in which it was reached
  friend bool operator==(const StableTime&, const StableTime&) = default;
};

// The stable time that two replicas with one list compare by. Within an epoch
// it only grows. One that was reached in an earlier epoch may have been reached
// without a new member of this one, whose tombstones it would hide, so of two
// such the smaller counts: to hold a tombstone again that was dropped does no
// harm. What was dropped does not return by that, since guards go by `purged`.
StableTime Agree(const StableTime& a, const StableTime& b, uint64_t epoch);

// What two replicas that meet have agreed upon: their list, the stable time
// that they compare by, and the mark that they held each other against. Once
// one of them is no longer as it was then, they have to meet anew.
struct Terms {
  uint64_t epoch = 0;
  uint64_t stable_time = 0;
  uint64_t purged = 0;
  bool may_hold_deleted_pairs = false;  // this replica

  // Whether what was agreed upon holds for a replica with these terms now. One
  // that might hold deleted pairs, and does not any more, may go on.
  bool StillHold(const Terms& now) const {
    return epoch == now.epoch && stable_time == now.stable_time &&
           purged == now.purged &&
           (may_hold_deleted_pairs || !now.may_hold_deleted_pairs);
  }
  friend bool operator==(const Terms&, const Terms&) = default;
};

// Whether two replicas may talk, by their member lists.
enum class PeerVerdict : uint8_t {
  kSameList,    // one list: sessions may begin
  kPeerNewer,   // the peer's is newer and has a place for this replica: install
                // it, and meet again
  kOursNewer,   // the other way round
  kNotMember,   // one of the two is not in the newer list
  kConflict,    // two lists that cannot follow one another
  kOutOfReach,  // one may hold pairs that the other has deleted and collected
  kAcknowledgedMore,  // one acknowledged more than it now knows of: an older
                      // state of its disk is back
};
struct PeerJudgement {
  PeerVerdict verdict = PeerVerdict::kSameList;
  std::string why;           // and the remedy, if they may not talk
  uint64_t rolled_back = 0;  // kAcknowledgedMore: which of the two
};

// What a replica is known to have said of itself in its present incarnation
// (announcement.h). Messages of one incarnation may be overtaken on another
// connection; then the older one does not show that the replica went back.
struct Reported {
  uint64_t reading = 0;
  uint64_t max_acknowledged = 0;
};
struct ReportedByBoth {
  Reported mine;
  Reported theirs;
};

// Whether to move the stable time, if so many tombstones of so many elements
// would go. A new stable time makes leaves be read again.
constexpr bool WorthCollecting(uint64_t tombstones, uint64_t elements) {
  constexpr uint64_t kShare = 50;  // 1 in this many
  return tombstones > 0 && tombstones >= elements / kShare;
}

inline constexpr size_t kMaxGcStateBytes =
    104 + (34 + 45 + 26 * kMaxPastIncarnations) * kMaxMembers;

// What one replica knows; also what it says of itself to a peer. A value: who
// keeps it changes a copy, and writes to disk what others may rely on before
// the copy counts. The fields are open, for decoders, statistics and tests that
// plant faults; else they are changed by the methods alone.
//
// Two replicas compare by the stable time, which may fall back in a newer list.
// The marks `purged` and `reached` only grow, in every list: guards go by them.
struct GcState {
  uint64_t epoch = 0;           // of the list; 0: none, nothing is collected
  std::vector<Member> members;  // by ascending replica id, none twice
  // Every member durably holds every tombstone with a version up to it: the
  // smallest of all `acknowledged` when it was reached.
  uint64_t stable_time = 0;
  uint64_t stable_epoch = 0;  // in which it was reached
  // The largest stable time that anybody is known to have had: tombstones up to
  // it may be gone from somebody's index. Of a replica that may hold deleted
  // pairs: its data hold nothing that those have deleted. A copy keeps what it
  // had when it was made.
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
  bool may_hold_deleted_pairs = false;
  // Came into the list empty, and has not been proven equal to such a member:
  // it may lack tombstones that all members before it hold.
  bool bootstrapping = false;

  friend bool operator==(const GcState&, const GcState&) = default;

  // --- Questions ---

  // nullptr: no member.
  const Member* Find(uint64_t replica_id) const;
  Member* Find(uint64_t replica_id);
  // One epoch, the same members since the same epochs.
  bool HasListOf(const GcState& other) const;
  StableTime stable() const { return {stable_time, stable_epoch}; }
  Terms terms() const {
    return {epoch, stable_time, purged, may_hold_deleted_pairs};
  }

  // Whether this replica may talk to a peer that says `peer`. Both sides come
  // to the same verdict, kPeerNewer and kOursNewer exchanged, unless one of
  // them knows that a message was overtaken.
  PeerJudgement JudgePeer(uint64_t my_id, const GcState& peer, uint64_t peer_id,
                          const ReportedByBoth& said = {}) const;

  // The peer's reading is smaller than one that it gave before: it was rolled
  // back, even if it is met for the first time. `said`: what it has said itself
  // in this incarnation.
  bool ReadingWentBack(uint64_t peer_id, uint64_t peer_reading,
                       const Reported& said) const;

  // Whether the peer says (`peer`, see Announcement::AsTrusted) that it runs in
  // the incarnation in which it was met, and descends from all that is known of
  // it. If not, an older state of its disk is back, or a copy runs beside it,
  // even if it is met for the first time.
  bool AcceptsIncarnation(uint64_t peer_id, const IncarnationId& incarnation,
                          const GcState& peer) const;

  // How far the stable time could be now.
  uint64_t AttainableTime() const;

  // Of the other members, the one that keeps the stable time from growing up to
  // `my_reading`, the present one of this replica: the one of whom this replica
  // has the oldest reading, or else the one that has acknowledged the least.
  // 0: none does.
  uint64_t HeldUpBy(uint64_t my_id, uint64_t my_reading) const;

  // What a copy of this replica still knows as a new replica. It is in no list.
  // What it lacks remains collected, and its data are as old as they are. Marks
  // keep their epochs, or replicas that meet it no longer recognise an older
  // state of a member's disk.
  GcState AsNewReplica() const;

  // --- Member lists ---
  //
  // A replica that has taken over a list, by either of these, must give no
  // reading from now on that is not greater than its own before it and, by
  // InstallList, than the peer's: so all stable times of the list are greater
  // than those of earlier ones. Nor may a replica that is new issue a version
  // up to there, since tombstones may be collected without it.

  // An operator sets the next list on this replica, and thereby confirms its
  // data. InvalidArgument, and nothing changes: the epoch is not newer, or
  // leaps ahead, this replica is missing, there are too many members, or an id
  // is 0 or there twice.
  absl::Status SetMembers(uint64_t next_epoch,
                          std::vector<uint64_t> replica_ids, uint64_t my_id);

  // After kPeerNewer: takes over the peer's list. `has_data`: this replica
  // holds anything at all. kOutOfReach: it is new in the list, and its data may
  // have been deleted and collected; nothing changes. Else kSameList.
  PeerJudgement InstallList(const GcState& peer, uint64_t my_id, bool has_data);

  // --- Knowledge ---

  // Two replicas that may meet (kSameList) said `said` and `peer` of
  // themselves: the terms of it. This is the one that said `said`, as it is by
  // now; it takes over the stable time of the terms, or a later one that it
  // agreed upon with others meanwhile, and what the peer knows.
  // `identity_conflict`: see MergeAcknowledged.
  Terms AgreeOnTerms(const GcState& said, const GcState& peer, uint64_t my_id,
                     uint64_t* identity_conflict);

  // Takes over what the peer (see Announcement::AsTrusted) knows others to have
  // acknowledged, unless the two know some member by incarnations that do not
  // follow one another: then that member's id is returned, else 0. REQUIRES:
  // one list.
  uint64_t MergeAcknowledged(const GcState& peer, uint64_t my_id);

  // A session proved the two equal, and this side has synced since.
  // `my_reading`, `peer_reading` and `peer` are what was said before either
  // took the session's snapshot. Counts for nothing if the peer's incarnation
  // is over by what is known now. True: this replica acknowledges more than
  // before, to be synced before anybody hears it. REQUIRES: one list, with both
  // in it.
  bool RecordProof(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
                   uint64_t peer_reading, const GcState& peer);

  // The peer, met in this incarnation, hands on pairs of which the latest that
  // it issued itself is of `time` (0: none). They may be later than its
  // reading, so what is known of the incarnation goes as far from now on.
  // False: by what was heard since, the incarnation is over, and the pairs are
  // not to be taken.
  bool RecordSource(uint64_t peer_id, const IncarnationId& incarnation,
                    uint64_t time);

  // What this replica says of its own incarnation. No effect outside a list.
  void SetOwnIncarnation(uint64_t my_id, const Incarnation& incarnation);

  // Moves the stable time to AttainableTime(); false if that is no gain.
  bool AdvanceStableTime();

  // --- Bytes ---
  //
  // flags (1): bit 0 may hold deleted pairs, bit 1 with incarnations, bit 2
  // bootstrapping | epoch | stable time (8) | stable time epoch | purged (8) |
  // reached (8) | its epoch | max acknowledged (8) | members | members x
  // (replica id (8) | since | summary (8) | acknowledged (8)) | with
  // incarnations: members x (counter, and unless it is 0: random (8)
  //   | first clock (8) | clock (8) | past since | past incarnations
  //   | past incarnations x (counter | random (8) | next clock (8)))
  // Integers are varints, fixed ones in parentheses. Decoding consumes all of
  // `bytes` and is false for anything that no encoder makes.
  void EncodeTo(std::string* out) const;
  [[nodiscard]] bool DecodeFrom(std::string_view bytes);

 private:
  void EnterListOf(uint64_t next_epoch);
  void StartKnowledge(uint64_t next_epoch, const std::vector<Member>& listed);
  void SetStableTime(const StableTime& to);
  void MergeMarks(const GcState& peer);
  bool MergeIncarnation(const GcState& peer, size_t i, uint64_t my_id);
  void ShortenIncarnations();
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_TOMBSTONE_GC_H_

// Tombstone garbage collection: which tombstones every member durably holds, so
// that all may drop them. This is a replica's knowledge of the other members,
// and what it decides by that; no storage, no clock, no thread.
// docs/membership.md has the argument, and a table of all verdicts.
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

// The most by which an epoch may exceed the one before. Lists are set one after
// the other, and after a slip to the largest number no other could follow.
inline constexpr uint64_t kMaxEpochLeap = uint64_t{1} << 32;

// A member of the list, and what is known of it. In each new list all fields
// but the first two start from nothing: what a removed member handed on late is
// covered only by readings that its receiver took after it installed the newer
// list.
struct Member {
  uint64_t replica_id = 0;
  uint64_t since = 0;  // first epoch from which it was listed without a gap
  // A reading of the member: this replica durably holds everything that the
  // member held at it, or something newer for the key.
  uint64_t summary = 0;
  // The smallest of the member's own summaries, as announced by the member,
  // which never takes that back.
  uint64_t acknowledged = 0;
  // The incarnation in which all that is known of the member's readings was
  // said, at whatever replica it was first noted: up to `clock`, or in
  // incarnations that this one follows, before they ended. Counter 0: nothing
  // is known. A replica knows its own incarnation best, so `clock` of its own
  // entry says nothing.
  Incarnation incarnation = {};
  friend bool operator==(const Member&, const Member&) = default;
};

struct StableTime {
  uint64_t time = 0;   // a Version.time; 0: nothing is collected
  uint64_t epoch = 0;  // the epoch in which it was reached
  friend bool operator==(const StableTime&, const StableTime&) = default;
};

// Returns the stable time that two replicas with one list compare by. Within an
// epoch it only grows, so the larger counts. One of an earlier epoch may have
// been reached without a new member of this epoch, whose tombstones it would
// hide; so of two such the smaller counts, as holding a tombstone again does no
// harm. Removed tombstones do not come back by that, so guards use `purged`.
StableTime Agree(const StableTime& a, const StableTime& b, uint64_t epoch);

// The terms that two replicas agreed upon when they met: their list, the stable
// time that they compare by, and the mark `purged` that they checked each other
// against. Once one of these has changed, the two have to meet anew.
struct Terms {
  uint64_t epoch = 0;
  uint64_t stable_time = 0;
  uint64_t purged = 0;
  bool may_hold_deleted_pairs = false;  // of this replica

  // Returns true if what was agreed upon holds for a replica with the terms
  // `now`. A change of `may_hold_deleted_pairs` to false does not end it.
  bool StillHold(const Terms& now) const {
    return epoch == now.epoch && stable_time == now.stable_time &&
           purged == now.purged &&
           (may_hold_deleted_pairs || !now.may_hold_deleted_pairs);
  }
  friend bool operator==(const Terms&, const Terms&) = default;
};

// Whether two replicas may talk, judged by their member lists.
enum class PeerVerdict : uint8_t {
  kSameList,    // one list: sessions may begin
  kPeerNewer,   // the peer's list is newer and names this replica: install it,
                // and meet again
  kOursNewer,   // this replica's list is newer, and names the peer
  kNotMember,   // one of the two is not in the newer list
  kConflict,    // two lists that cannot follow one another
  kOutOfReach,  // one may hold pairs that the other has deleted and collected
  kAcknowledgedMore,  // one acknowledged more than it now knows of: an older
                      // state of its disk is back
};
struct PeerJudgement {
  PeerVerdict verdict = PeerVerdict::kSameList;
  std::string why;           // if they may not talk; with the remedy
  uint64_t rolled_back = 0;  // kAcknowledgedMore: the id of the one that did
};

// What a replica is known to have said of itself in its present incarnation
// (announcement.h). On two connections a later message of one incarnation may
// overtake an earlier one; then the earlier one does not show that the replica
// went back.
struct Reported {
  uint64_t reading = 0;
  uint64_t max_acknowledged = 0;
};
struct ReportedByBoth {
  Reported mine;
  Reported theirs;
};

// Returns true if it is worth moving the stable time to collect `tombstones` of
// `elements`. A new stable time makes leaves be read again.
constexpr bool WorthCollecting(uint64_t tombstones, uint64_t elements) {
  constexpr uint64_t kShare = 50;  // 1 in this many
  return tombstones > 0 && tombstones >= elements / kShare;
}

inline constexpr size_t kMaxGcStateBytes =
    104 + (34 + 45 + 26 * kMaxPastIncarnations) * kMaxMembers;

// What one replica knows of the members, and what it says of itself to a peer.
// This is a value: its owner changes a copy, and writes to disk what others may
// rely on before the copy counts. The fields are public for decoders,
// statistics and tests that plant faults; all other code changes them by the
// methods alone.
//
// Two replicas compare by the stable time, which may fall back in a newer list.
// The marks `purged` and `reached` only grow, in every list of one cluster:
// guards use them.
struct GcState {
  uint64_t epoch = 0;           // of the list; 0: none, nothing is collected
  std::vector<Member> members;  // by ascending replica id, none twice
  // The time up to which every member durably holds every tombstone: the
  // smallest of all `acknowledged` when it was reached.
  uint64_t stable_time = 0;
  uint64_t stable_epoch = 0;  // the epoch in which it was reached
  // The largest stable time that any replica is known to have had: tombstones
  // up to it may be gone from some index. In a replica that may hold deleted
  // pairs it is the age of the data: they hold nothing that those tombstones
  // deleted. A copy keeps the value it had when it was made.
  uint64_t purged = 0;
  // The largest stable time of the latest epoch in which a member is known to
  // have reached one: the members of that time acknowledged as much.
  StableTime reached;
  // The most that this replica has acknowledged, in any list. It only grows, so
  // a peer that has heard of a larger value knows that an older state of this
  // replica's disk is back, even if a newer list was set on that state.
  uint64_t max_acknowledged = 0;
  // This replica may hold pairs that others deleted and collected: it joined
  // the list with data of its own, or took pairs of such a member while it was
  // bootstrapping, and since then was not proven equal to a full member (one
  // for which this and `bootstrapping` are false), nor to all members.
  bool may_hold_deleted_pairs = false;
  // This replica may lack tombstones that all earlier members hold: it joined
  // the list empty, and since then was not proven equal to a full member, nor
  // to all members.
  bool bootstrapping = false;

  friend bool operator==(const GcState&, const GcState&) = default;

  // --- Questions ---

  // Returns nullptr if the replica is no member.
  const Member* Find(uint64_t replica_id) const;
  Member* Find(uint64_t replica_id);
  // Returns true if both have one list: one epoch, and the same members since
  // the same epochs.
  bool HasListOf(const GcState& other) const;
  StableTime stable() const { return {stable_time, stable_epoch}; }
  Terms terms() const {
    return {epoch, stable_time, purged, may_hold_deleted_pairs};
  }

  // Judges whether this replica may talk to a peer that says `peer`. Both sides
  // come to the same verdict, with kPeerNewer and kOursNewer exchanged, unless
  // one of them knows that a message was overtaken.
  PeerJudgement JudgePeer(uint64_t my_id, const GcState& peer, uint64_t peer_id,
                          const ReportedByBoth& said = {}) const;

  // Returns true if the peer's reading is smaller than one that it gave before:
  // the peer was rolled back, even at their first meeting. `said`:
  // what the peer itself has said in this incarnation.
  bool ReadingWentBack(uint64_t peer_id, uint64_t peer_reading,
                       const Reported& said) const;

  // Returns true if the peer says (`peer`, see Announcement::AsTrusted) that it
  // runs in the incarnation in which it was met, and if that descends from all
  // that is known of the peer. If not, an older state of its disk is back, or a
  // copy runs beside it, even at their first meeting.
  bool AcceptsIncarnation(uint64_t peer_id, const IncarnationId& incarnation,
                          const GcState& peer) const;

  // Returns how far the stable time could be now.
  uint64_t AttainableTime() const;

  // Returns the other member that keeps the stable time from growing up to
  // `my_reading`, the present reading of this replica: the one of which this
  // replica has the oldest reading, or else the one that has acknowledged the
  // least. Returns 0 if none does.
  uint64_t HeldUpBy(uint64_t my_id, uint64_t my_reading) const;

  // Returns what a copy of this replica still knows as a new replica. The copy
  // is in no list. Tombstones that it lacks remain collected, and its data are
  // as old as they are. Marks keep their epochs, or replicas that meet the copy
  // would no longer recognise an older state of a member's disk.
  GcState AsNewReplica() const;

  // --- Member lists ---
  //
  // After a replica has taken over a list, by either of these, each reading
  // that it gives must be greater than all its own before and, after
  // InstallList, than the peer's: so all stable times of the list are greater
  // than those of earlier ones. A new replica must not issue a version up to
  // there either, since tombstones may be collected without it.

  // Sets the next list on behalf of an operator, who thereby confirms this
  // replica's data. Returns InvalidArgument, and changes nothing, if the epoch
  // is not newer, or leaps ahead, if this replica is missing, if there are too
  // many members, or if an id is 0 or there twice.
  absl::Status SetMembers(uint64_t next_epoch,
                          std::vector<uint64_t> replica_ids, uint64_t my_id);

  // Takes over the peer's list, after kPeerNewer. `has_data`: this replica
  // holds anything at all. Returns kOutOfReach, and changes nothing, if this
  // replica is new in the list, and its data may have been deleted and
  // collected; else kSameList.
  PeerJudgement InstallList(const GcState& peer, uint64_t my_id, bool has_data);

  // --- Knowledge ---

  // Returns the terms of two replicas that may meet (kSameList) and that said
  // `said` and `peer` of themselves. This object is the replica that said
  // `said`, as it is by now. It takes over the stable time of the terms, or a
  // later one that it agreed upon with others meanwhile, and what the peer
  // knows. `identity_conflict`: see MergeAcknowledged.
  Terms AgreeOnTerms(const GcState& said, const GcState& peer, uint64_t my_id,
                     uint64_t* identity_conflict);

  // Takes over what the peer (see Announcement::AsTrusted) knows others to have
  // acknowledged, and returns 0. But if the two know some member by
  // incarnations that do not follow one another, takes over none of it, and
  // returns that member's id. REQUIRES: both have one list.
  uint64_t MergeAcknowledged(const GcState& peer, uint64_t my_id);

  // Records that a session proved the two equal, and that this side has synced
  // since. `my_reading`, `peer_reading` and `peer` are what was said before
  // either took the session's snapshot. Has no effect if the peer's incarnation
  // is over by what is known now. Returns true if this replica acknowledges
  // more than before, which is to be synced before any peer hears it. REQUIRES:
  // both have one list, and are in it.
  bool RecordProof(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
                   uint64_t peer_reading, const GcState& peer);

  // Records that the peer, met in this incarnation, hands on pairs of which the
  // latest that it issued itself is of `time` (0: none). They may be later than
  // its reading, so the incarnation is known up to `time` from now on. Returns
  // false if the incarnation is over, by what was heard since: the pairs are
  // not to be taken.
  bool RecordSender(uint64_t peer_id, const IncarnationId& incarnation,
                    uint64_t time);

  // Sets what this replica says of its own incarnation. Has no effect outside a
  // list.
  void SetOwnIncarnation(uint64_t my_id, const Incarnation& incarnation);

  // Moves the stable time to AttainableTime(). Returns false if that is no
  // gain.
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
  // Integers are varints unless a size is given. Decoding consumes all of
  // `bytes`, and returns false for anything that no encoder makes.
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

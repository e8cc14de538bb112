// Judges which replicas may talk to one another, and which takes over whose
// list.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/membership/tombstone_gc.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

// Refuses replica `id`, which is not in the list that `holder` has; both
// replicas get the text. `was_member`: it is in an earlier list, which it has
// itself.
PeerJudgement NotMember(uint64_t id, uint64_t epoch, uint64_t holder,
                        bool was_member) {
  return {
      PeerVerdict::kNotMember,
      absl::StrCat("replica ", ReplicaIdHex(id),
                   " is not in the member list of epoch ", epoch,
                   ", which replica ", ReplicaIdHex(holder), " has; ",
                   was_member ? "it was removed:"
                              : "if it is new, add it by a newer list; if it "
                                "was removed,",
                   " on replica ", ReplicaIdHex(id),
                   " export what it alone holds (`rocksync rescue`) and start"
                   " it anew, as a new replica")};
}

PeerJudgement AcknowledgedMore(uint64_t id) {
  return {
      PeerVerdict::kAcknowledgedMore,
      absl::StrCat("replica ", ReplicaIdHex(id),
                   " has lost state that it had acknowledged; if this goes"
                   " on, an older state of its disk is back: export what"
                   " it alone holds (`rocksync rescue`) and replace it by an"
                   " empty replica or a clone; or, if no tombstones were"
                   " collected, open it as a new replica (option"
                   " open_copy_as_new_replica, of rocksync-store"
                   " --as-new-replica)"),
      id};
}

PeerJudgement BehindWithData(uint64_t id) {
  return {
      PeerVerdict::kOutOfReach,
      absl::StrCat("replica ", ReplicaIdHex(id),
                   " may hold pairs that other members have deleted: it"
                   " joined with data, or took pairs of a member that"
                   " did. Export what the one that joined with data alone"
                   " holds (`rocksync rescue`) and replace it by an empty"
                   " replica or a recent copy of a member;"
                   " once it has a member list,"
                   " tombstone_gc.may_hold_deleted_pairs in `rocksync status`"
                   " (TombstoneGcStats) is true at such members")};
}

// Returns what a member, listed since epoch `since`, has acknowledged as far as
// `witness` knows: what the witness heard, and every stable time that was
// reached meanwhile.
uint64_t KnownAcknowledged(const GcState& witness, uint64_t id,
                           uint64_t since) {
  const Member* const member = witness.Find(id);
  const uint64_t heard = member != nullptr ? member->acknowledged : 0;
  return since <= witness.reached.epoch ? std::max(heard, witness.reached.time)
                                        : heard;
}

// Returns true if a replica now says less than the witness knows it
// acknowledged. Acknowledgements are durable before they are said, so no
// replica that kept its disk falls behind what others heard of it.
bool FellBehind(const GcState& itself, uint64_t id, uint64_t since,
                const Reported& said, const GcState& witness) {
  return std::max(itself.max_acknowledged, said.max_acknowledged) <
         KnownAcknowledged(witness, id, since);
}

// Returns which of two replicas was rolled back, if any. `newer` is the list
// that both have, or the newer one.
std::optional<uint64_t> RolledBack(const GcState& newer, const GcState& mine,
                                   uint64_t my_id, const GcState& peer,
                                   uint64_t peer_id,
                                   const ReportedByBoth& said) {
  const auto since = [&](uint64_t id) { return newer.Find(id)->since; };
  if (FellBehind(mine, my_id, since(my_id), said.mine, peer)) return my_id;
  if (FellBehind(peer, peer_id, since(peer_id), said.theirs, mine)) {
    return peer_id;
  }
  return std::nullopt;
}

// Returns which of two replicas, if any, has data from outside the list, or
// from before it, and is behind the other.
std::optional<uint64_t> OutOfReach(const GcState& a, uint64_t a_id,
                                   const GcState& b, uint64_t b_id) {
  if (a.may_hold_deleted_pairs && a.purged < b.purged) return a_id;
  if (b.may_hold_deleted_pairs && b.purged < a.purged) return b_id;
  return std::nullopt;
}

PeerJudgement JudgeOneEpoch(const GcState& mine, uint64_t my_id,
                            const GcState& peer, uint64_t peer_id,
                            const ReportedByBoth& said) {
  if (mine.epoch == 0) {
    if (mine.stable_time == peer.stable_time && mine.purged == peer.purged)
      return {};
    return {PeerVerdict::kOutOfReach,
            absl::StrCat("replicas ", ReplicaIdHex(my_id), " and ",
                         ReplicaIdHex(peer_id),
                         " have no member list, and one has collected deletes"
                         " that the other may not know; set a member list that"
                         " names both, on either of the two (SetMembers; of"
                         " the store REPLICATION MEMBERS)")};
  }
  if (!mine.HasListOf(peer)) {
    return {PeerVerdict::kConflict,
            absl::StrCat("replicas ", ReplicaIdHex(my_id), " and ",
                         ReplicaIdHex(peer_id),
                         " have different member lists of one epoch, ",
                         mine.epoch, "; set a newer list on one member")};
  }
  for (const uint64_t id : {my_id, peer_id}) {
    if (mine.Find(id) != nullptr) continue;
    return NotMember(id, mine.epoch, id == my_id ? peer_id : my_id, false);
  }
  if (const auto back = RolledBack(mine, mine, my_id, peer, peer_id, said)) {
    return AcknowledgedMore(*back);
  }
  if (const auto behind = OutOfReach(mine, my_id, peer, peer_id)) {
    return BehindWithData(*behind);
  }
  return {};
}

// Returns a member that the newer list dates back to the older one's epoch, but
// the older list lacks or dates otherwise: the newer list then follows another
// list of that time. Null: there is none.
const Member* NotListedInBetween(const GcState& older, const GcState& newer) {
  for (const Member& member : newer.members) {
    if (member.since > older.epoch) continue;
    const Member* const before = older.Find(member.replica_id);
    if (before == nullptr || before->since != member.since) return &member;
  }
  return nullptr;
}

// Returns why the newer list cannot follow the older one, which replica
// `older_id` has; nullopt if it can.
std::optional<PeerJudgement> WhyNotFollowing(const GcState& older,
                                             uint64_t older_id,
                                             const GcState& newer) {
  const std::string lists =
      absl::StrCat("the member list of epoch ", newer.epoch,
                   " does not follow that of epoch ", older.epoch, ": ");
  if (older.epoch > 0 && newer.Find(older_id)->since > older.epoch) {
    return PeerJudgement{
        PeerVerdict::kConflict,
        absl::StrCat(lists, "replica ", ReplicaIdHex(older_id),
                     " was removed in between, or the newer list was set on"
                     " a member that did not have the older one yet (then"
                     " export what it alone holds by `rocksync rescue` and"
                     " start it anew), or it was set on a replica that was"
                     " no member (then set a newer one on a member)")};
  }
  if (const Member* const stranger = NotListedInBetween(older, newer)) {
    return PeerJudgement{
        PeerVerdict::kConflict,
        absl::StrCat(lists, "it has replica ",
                     ReplicaIdHex(stranger->replica_id),
                     " for a member since epoch ", stranger->since,
                     ", which the older list does not; it was set on a"
                     " replica that did not have that list. Set one of a"
                     " larger epoch on a member that has it; what a"
                     " replica that is then refused alone holds can be"
                     " exported (`rocksync rescue`), and the replica"
                     " started empty")};
  }
  return std::nullopt;
}

}  // namespace

PeerJudgement GcState::JudgePeer(uint64_t my_id, const GcState& peer,
                                 uint64_t peer_id,
                                 const ReportedByBoth& said) const {
  if (epoch == peer.epoch) {
    return JudgeOneEpoch(*this, my_id, peer, peer_id, said);
  }
  const bool learn = epoch < peer.epoch;
  const GcState& newer = learn ? peer : *this;
  const GcState& older = learn ? *this : peer;
  const uint64_t newer_id = learn ? peer_id : my_id;
  const uint64_t older_id = learn ? my_id : peer_id;
  for (const uint64_t id : {my_id, peer_id}) {
    if (newer.Find(id) == nullptr) {
      return NotMember(id, newer.epoch, newer_id,
                       id == older_id && older.Find(id) != nullptr);
    }
  }
  if (auto refused = WhyNotFollowing(older, older_id, newer)) return *refused;
  // A replica that was in no list is not judged by marks: nothing is known of
  // it, and its own marks may be of another cluster.
  if (older.epoch > 0) {
    // The older side was in all epochs since, so it knew of each that reached a
    // stable time.
    if (newer.reached.epoch > older.epoch) return AcknowledgedMore(older_id);
    if (const auto back =
            RolledBack(newer, *this, my_id, peer, peer_id, said)) {
      return AcknowledgedMore(*back);
    }
  }
  return {learn ? PeerVerdict::kPeerNewer : PeerVerdict::kOursNewer, ""};
}

PeerJudgement GcState::InstallList(const GcState& peer, uint64_t my_id,
                                   bool has_data) {
  if (epoch > 0) {
    // This replica had its part in what was reached in the epoch that it
    // leaves.
    SetStableTime(Agree(stable(), peer.stable(), epoch));
  } else if (has_data && purged < peer.purged) {
    return BehindWithData(my_id);
  } else {
    may_hold_deleted_pairs = has_data;
    bootstrapping = !has_data;
    EnterListOf(peer.epoch);
    // Such a mark is of another cluster, or the peer would know of it.
    if (reached.time > peer.max_acknowledged) reached = {};
    if (!has_data) SetStableTime(peer.stable());
  }
  MergeMarks(peer);
  StartKnowledge(peer.epoch, peer.members);
  return {};
}

}  // namespace rocksync

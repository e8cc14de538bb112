#include "replication/membership/tombstone_gc.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

// Returns the mark that says more of what members must have acknowledged.
StableTime LaterMark(const StableTime& a, const StableTime& b) {
  const auto rank = [](const StableTime& mark) {
    return std::pair(mark.epoch, mark.time);
  };
  return rank(a) < rank(b) ? b : a;
}

// Returns the smallest `field` of all members.
uint64_t Least(const std::vector<Member>& members, uint64_t Member::*field) {
  return (*std::min_element(members.begin(), members.end(),
                            [field](const Member& a, const Member& b) {
                              return a.*field < b.*field;
                            })).*
         field;
}

// Returns the first of the members with the smallest `field`, `self` left out.
// REQUIRES: there are two or more members.
const Member& LeastOfOthers(const std::vector<Member>& members,
                            const Member& self, uint64_t Member::*field) {
  const Member* least = nullptr;
  for (const Member& member : members) {
    if (&member == &self) continue;
    if (least == nullptr || member.*field < least->*field) least = &member;
  }
  return *least;
}

// Returns true if `*to` grew.
bool Raise(uint64_t* to, uint64_t value) {
  if (*to >= value) return false;
  *to = value;
  return true;
}

}  // namespace

StableTime Agree(const StableTime& a, const StableTime& b, uint64_t epoch) {
  if (a.epoch == epoch && b.epoch == epoch) {
    return {std::max(a.time, b.time), epoch};
  }
  if (a.epoch == epoch) return a;
  if (b.epoch == epoch) return b;
  return {std::min(a.time, b.time), std::min(a.epoch, b.epoch)};
}

// --- Questions --------------------------------------------------------------

const Member* GcState::Find(uint64_t replica_id) const {
  const auto it = std::lower_bound(
      members.begin(), members.end(), replica_id,
      [](const Member& member, uint64_t id) { return member.replica_id < id; });
  return it == members.end() || it->replica_id != replica_id ? nullptr : &*it;
}

Member* GcState::Find(uint64_t replica_id) {
  return const_cast<Member*>(std::as_const(*this).Find(replica_id));
}

bool GcState::HasListOf(const GcState& other) const {
  return epoch == other.epoch &&
         std::equal(members.begin(), members.end(), other.members.begin(),
                    other.members.end(), [](const Member& a, const Member& b) {
                      return a.replica_id == b.replica_id && a.since == b.since;
                    });
}

bool GcState::ReadingWentBack(uint64_t peer_id, uint64_t peer_reading,
                              const Reported& said) const {
  const Member* const peer = Find(peer_id);
  return peer != nullptr &&
         std::max(peer_reading, said.reading) < peer->summary;
}

bool GcState::AcceptsIncarnation(uint64_t peer_id,
                                 const IncarnationId& incarnation,
                                 const GcState& peer) const {
  const Member* const itself = peer.Find(peer_id);
  if (itself == nullptr) return true;
  const Incarnation& now = itself->incarnation;
  const Member* const known = Find(peer_id);
  return now.incarnation == incarnation &&
         (known == nullptr ||
          Compare(known->incarnation, now) == Succession::kFollows);
}

uint64_t GcState::AttainableTime() const {
  if (members.empty()) return stable_time;
  return Least(members, &Member::acknowledged);
}

uint64_t GcState::HeldUpBy(uint64_t my_id, uint64_t my_reading) const {
  const Member* const self = Find(my_id);
  if (self == nullptr || members.size() < 2) return 0;
  // This replica's own summary is left out: it stands still while no peer is
  // there to prove anything.
  const Member& oldest = LeastOfOthers(members, *self, &Member::summary);
  if (oldest.summary < my_reading) return oldest.replica_id;
  const Member& laggard = LeastOfOthers(members, *self, &Member::acknowledged);
  return laggard.acknowledged < self->acknowledged ? laggard.replica_id : 0;
}

GcState GcState::AsNewReplica() const {
  GcState renewed;
  renewed.SetStableTime(stable());
  renewed.purged = purged;
  renewed.reached = reached;
  return renewed;
}

// --- Member lists -----------------------------------------------------------

absl::Status GcState::SetMembers(uint64_t next_epoch,
                                 std::vector<uint64_t> replica_ids,
                                 uint64_t my_id) {
  if (next_epoch == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "epoch 0 does not follow epoch ", epoch,
        ", as it stands for no list at all; the next one is ", epoch + 1));
  }
  if (next_epoch <= epoch) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch ", next_epoch, " does not follow epoch ", epoch,
                     "; choose a larger one"));
  }
  if (next_epoch - epoch > kMaxEpochLeap) {
    return absl::InvalidArgumentError(absl::StrCat(
        "epoch ", next_epoch, " is more than ", kMaxEpochLeap, " above epoch ",
        epoch, "; choose ", epoch + kMaxEpochLeap, " at most"));
  }
  if (replica_ids.size() > kMaxMembers) {
    return absl::InvalidArgumentError(
        absl::StrCat(replica_ids.size(), " members; at most ", kMaxMembers,
                     " are possible"));
  }
  std::sort(replica_ids.begin(), replica_ids.end());
  if (!std::binary_search(replica_ids.begin(), replica_ids.end(), my_id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the member list lacks replica ", ReplicaIdHex(my_id),
                     ", on which it is set; set it on one that stays"));
  }
  if (replica_ids.front() == 0 ||
      std::adjacent_find(replica_ids.begin(), replica_ids.end()) !=
          replica_ids.end()) {
    return absl::InvalidArgumentError(
        "a replica id in the member list is 0 or there twice");
  }
  std::vector<Member> next;
  for (const uint64_t id : replica_ids) {
    const Member* const before = Find(id);
    next.push_back({.replica_id = id,
                    .since = before != nullptr ? before->since : next_epoch});
  }
  if (epoch == 0) EnterListOf(next_epoch);
  StartKnowledge(next_epoch, next);
  return absl::OkStatus();
}

// Adjusts the marks of a replica that had no list. A copy that is opened as a
// new replica keeps the epochs in which its stable times were reached. None was
// reached in this list, whatever its number; and one of this epoch or a later
// one is of the lists of another cluster, and says nothing of the members here.
void GcState::EnterListOf(uint64_t next_epoch) {
  stable_epoch = std::min(stable_epoch, next_epoch - 1);
  if (reached.epoch >= next_epoch) reached = {};
}

void GcState::StartKnowledge(uint64_t next_epoch,
                             const std::vector<Member>& listed) {
  std::vector<Member> anew;
  for (const Member& member : listed) {
    anew.push_back({.replica_id = member.replica_id, .since = member.since});
  }
  epoch = next_epoch;
  members = std::move(anew);
}

// --- Knowledge --------------------------------------------------------------

void GcState::SetStableTime(const StableTime& to) {
  stable_time = to.time;
  stable_epoch = to.epoch;
  Raise(&purged, stable_time);
}

// Merges the marks, which only grow. `purged` stays where it is the age of the
// data: such a replica is let in only by those that know of no greater one.
void GcState::MergeMarks(const GcState& peer) {
  if (!may_hold_deleted_pairs) Raise(&purged, peer.purged);
  reached = LaterMark(reached, peer.reached);
}

// Returns false if the two know the member at `i` by incarnations that do not
// follow one another.
bool GcState::MergeIncarnation(const GcState& peer, size_t i, uint64_t my_id) {
  const Incarnation& theirs = peer.members[i].incarnation;
  Incarnation* const mine = &members[i].incarnation;
  return members[i].replica_id == my_id
             ? Compare(theirs, *mine) == Succession::kFollows
             : Unite(theirs, mine);
}

// Drops incarnations that ended before what every member has acknowledged: no
// replica's knowledge is about them any more.
void GcState::ShortenIncarnations() {
  const uint64_t attained = AttainableTime();
  for (Member& member : members) Shorten(attained, &member.incarnation.past);
}

Terms GcState::AgreeOnTerms(const GcState& said, const GcState& peer,
                            uint64_t my_id, uint64_t* identity_conflict) {
  *identity_conflict = 0;
  const StableTime agreed = Agree(said.stable(), peer.stable(), said.epoch);
  // This replica lacks what would overrule the peer's old pairs, and would hand
  // them on.
  const bool takes_old_pairs =
      said.bootstrapping && peer.may_hold_deleted_pairs;
  const Terms terms = {said.epoch, agreed.time,
                       std::max(said.purged, peer.purged),
                       said.may_hold_deleted_pairs || takes_old_pairs};
  if (said.epoch == 0 || !HasListOf(said)) return terms;
  const bool moved_meanwhile = stable() != said.stable();
  *identity_conflict = MergeAcknowledged(peer, my_id);
  MergeMarks(peer);
  if (takes_old_pairs && bootstrapping) {
    bootstrapping = false;
    may_hold_deleted_pairs = true;
  }
  SetStableTime(moved_meanwhile ? Agree(stable(), agreed, epoch) : agreed);
  return terms;
}

uint64_t GcState::MergeAcknowledged(const GcState& peer, uint64_t my_id) {
  uint64_t identity_conflict = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (!MergeIncarnation(peer, i, my_id)) {
      identity_conflict = members[i].replica_id;
    }
  }
  // A member acknowledges what it holds of all members, so one conflict makes
  // all of these values unusable.
  for (size_t i = 0; identity_conflict == 0 && i < members.size(); ++i) {
    if (members[i].replica_id == my_id) continue;
    Raise(&members[i].acknowledged, peer.members[i].acknowledged);
  }
  ShortenIncarnations();
  return identity_conflict;
}

bool GcState::RecordProof(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
                          uint64_t peer_reading, const GcState& peer) {
  if (epoch == 0) return false;
  Member* const self = Find(my_id);
  Member* const other = Find(peer_id);
  if (Compare(other->incarnation, peer.Find(peer_id)->incarnation) !=
      Succession::kFollows) {
    return false;
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (MergeIncarnation(peer, i, my_id)) {
      Raise(&members[i].summary, peer.members[i].summary);
    }
  }
  Raise(&self->summary, my_reading);
  Raise(&other->summary, peer_reading);
  const uint64_t least = Least(members, &Member::summary);
  const bool acknowledges_more = Raise(&self->acknowledged, least);
  Raise(&max_acknowledged, least);
  // A replica that holds what every member held, proven for each (`least` > 0),
  // is in reach of all of them, even if they all joined with data of their own:
  // else the first stable time that they reach together would shut them out.
  if ((!peer.may_hold_deleted_pairs && !peer.bootstrapping) || least > 0) {
    may_hold_deleted_pairs = bootstrapping = false;
  }
  ShortenIncarnations();
  return acknowledges_more;
}

bool GcState::RecordSender(uint64_t peer_id, const IncarnationId& incarnation,
                           uint64_t time) {
  Member* const peer = Find(peer_id);
  if (peer == nullptr) return true;
  if (peer->incarnation.incarnation != incarnation) return false;
  Raise(&peer->incarnation.clock, time);
  return true;
}

void GcState::SetOwnIncarnation(uint64_t my_id,
                                const Incarnation& incarnation) {
  Member* const self = Find(my_id);
  if (self == nullptr) return;
  self->incarnation = incarnation;
  self->incarnation.clock = incarnation.first_clock;
  ShortenIncarnations();
}

bool GcState::AdvanceStableTime() {
  const uint64_t to = AttainableTime();
  if (to <= stable_time) return false;
  SetStableTime({to, epoch});
  reached = LaterMark(reached, stable());
  return true;
}

}  // namespace rocksync

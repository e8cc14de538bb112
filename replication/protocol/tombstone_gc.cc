#include "replication/protocol/tombstone_gc.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/incarnation.h"
#include "replication/protocol/messages.h"
#include "sketch/coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kUnproven = 0x01;
constexpr uint8_t kWithIncarnations = 0x02;
constexpr uint8_t kBootstrapping = 0x04;

bool Ascending(const std::vector<Member>& members) {
  return std::adjacent_find(members.begin(), members.end(),
                            [](const Member& a, const Member& b) {
                              return a.replica_id >= b.replica_id;
                            }) == members.end();
}

MeetingVerdict NotMember(uint64_t id, uint64_t epoch) {
  return {Meeting::kNotMember,
          absl::StrCat("replica ", HexOf(id),
                       " is not in the member list of epoch ", epoch,
                       "; add it by a newer list, or, if it was removed, export"
                       " what it alone holds (`rocksync rescue`) and start it"
                       " anew")};
}

// What a member, listed since this epoch, has acknowledged as far as a witness
// knows: what the witness heard, and every stable time that was reached
// meanwhile.
uint64_t KnownPromise(const GcState& witness, uint64_t id, uint64_t since) {
  uint64_t max_acknowledged = 0;
  if (const std::optional<size_t> at = witness.list.Find(id)) {
    max_acknowledged = witness.acknowledged[*at];
  }
  if (since <= witness.reached.epoch) {
    max_acknowledged = std::max(max_acknowledged, witness.reached.time);
  }
  return max_acknowledged;
}

// Promises are written down before they are said, so nobody who kept its disk
// falls behind what others heard of it.
bool WentBackOnIt(const GcState& itself, uint64_t id, uint64_t since,
                  const Said& said, const GcState& witness) {
  return std::max(itself.max_acknowledged, said.max_acknowledged) <
         KnownPromise(witness, id, since);
}

// Of two with one list, or of which `list` is the newer one.
std::optional<uint64_t> RolledBack(const MemberList& list, const GcState& mine,
                                   uint64_t my_id, const GcState& peer,
                                   uint64_t peer_id, const SaidByBoth& said) {
  const auto since = [&](uint64_t id) {
    return list.members[*list.Find(id)].since;
  };
  if (WentBackOnIt(mine, my_id, since(my_id), said.mine, peer)) return my_id;
  if (WentBackOnIt(peer, peer_id, since(peer_id), said.theirs, mine)) {
    return peer_id;
  }
  return std::nullopt;
}

// The mark that says more of what members must have acknowledged.
StableTime Later(const StableTime& a, const StableTime& b) {
  const auto rank = [](const StableTime& stable_time) {
    return std::pair(stable_time.epoch, stable_time.time);
  };
  return rank(a) < rank(b) ? b : a;
}

void SetStableTime(const StableTime& stable_time, GcState* mine) {
  mine->stable_time = stable_time.time;
  mine->stable_epoch = stable_time.epoch;
  mine->purged = std::max(mine->purged, stable_time.time);
}

// Marks that only grow. `purged` does not where it says how old the data are:
// such a replica is let in by those alone that know of no greater one.
void HearMarks(const GcState& peer, GcState* mine) {
  if (!mine->unproven) mine->purged = std::max(mine->purged, peer.purged);
  mine->reached = Later(mine->reached, peer.reached);
}

MeetingVerdict AcknowledgedMore(uint64_t id) {
  return {Meeting::kRolledBack,
          absl::StrCat("replica ", HexOf(id),
                       " acknowledged more than it now knows of; if this goes"
                       " on, an older state of its disk is back: export what"
                       " it alone holds (`rocksync rescue`) and open it as a"
                       " new replica (open_copy_as_new_replica)"),
          id};
}

// A member of the newer list that claims to have been listed in the older one's
// epoch, by another list: the newer one follows that.
std::optional<uint64_t> NotListedInBetween(const MemberList& older,
                                           const MemberList& newer) {
  for (const Member& member : newer.members) {
    if (member.since > older.epoch) continue;
    const std::optional<size_t> at = older.Find(member.replica_id);
    if (!at || older.members[*at].since != member.since) {
      return member.replica_id;
    }
  }
  return std::nullopt;
}

// Of two with data from outside the list, or from before it, the one that is
// behind.
std::optional<uint64_t> OutOfReach(const GcState& a, uint64_t a_id,
                                   const GcState& b, uint64_t b_id) {
  if (a.unproven && a.purged < b.purged) return a_id;
  if (b.unproven && b.purged < a.purged) return b_id;
  return std::nullopt;
}

MeetingVerdict BehindWithData(uint64_t id) {
  return {Meeting::kOutOfReach,
          absl::StrCat("replica ", HexOf(id),
                       " joined with data, or took pairs of a member that did,"
                       " that may have been deleted and collected since;"
                       " export what the one with the data alone holds"
                       " (`rocksync rescue`) and start it empty, or from a"
                       " fresh copy of a member; TombstoneGcStats::unproven"
                       " says which members are such")};
}

// A copy that is opened as a new replica keeps the epochs in which its stable
// times were reached. None was in this list, whatever its number; and one that
// was reached in this epoch or a later one was in the lists of another cluster,
// to whose members it says nothing here.
void EnterList(const MemberList& list, GcState* mine) {
  mine->stable_epoch = std::min(mine->stable_epoch, list.epoch - 1);
  if (mine->reached.epoch >= list.epoch) mine->reached = {};
}

void Restart(const MemberList& list, GcState* mine) {
  mine->list = list;
  mine->summary.assign(list.members.size(), 0);
  mine->acknowledged.assign(list.members.size(), 0);
  mine->incarnations.assign(list.members.size(), {});
}

// Nobody has any knowledge left of incarnations that ended before what every
// member has acknowledged.
void ShortenIncarnations(GcState* mine) {
  const uint64_t attained = Attainable(*mine);
  for (Incarnation& incarnation : mine->incarnations)
    Shorten(attained, &incarnation.past);
}

// False: the two know the member at `i` by incarnations that do not follow one
// another.
bool UniteIncarnations(const GcState& peer, size_t i, uint64_t my_id,
                       GcState* mine) {
  Incarnation* const incarnation = &mine->incarnations[i];
  if (mine->list.members[i].replica_id == my_id) {
    return Compare(peer.incarnations[i], *incarnation) == Succession::kFollows;
  }
  return Unite(peer.incarnations[i], incarnation);
}

MeetingVerdict JudgeAlike(const GcState& mine, uint64_t my_id,
                          const GcState& peer, uint64_t peer_id,
                          const SaidByBoth& said) {
  const uint64_t epoch = mine.list.epoch;
  if (epoch == 0) {
    if (mine.stable_time == peer.stable_time && mine.purged == peer.purged)
      return {};
    return {Meeting::kOutOfReach,
            absl::StrCat("replicas ", HexOf(my_id), " and ", HexOf(peer_id),
                         " have no member list, and one has collected deletes"
                         " that the other may not know; name both in a member"
                         " list")};
  }
  if (mine.list != peer.list) {
    return {Meeting::kConflict,
            absl::StrCat("replicas ", HexOf(my_id), " and ", HexOf(peer_id),
                         " have different member lists of one epoch, ", epoch,
                         "; set a newer list on one member")};
  }
  for (const uint64_t id : {my_id, peer_id}) {
    if (!mine.list.Find(id)) return NotMember(id, epoch);
  }
  if (const auto back =
          RolledBack(mine.list, mine, my_id, peer, peer_id, said)) {
    return AcknowledgedMore(*back);
  }
  if (const auto behind = OutOfReach(mine, my_id, peer, peer_id)) {
    return BehindWithData(*behind);
  }
  return {};
}

}  // namespace

// --- Lists ------------------------------------------------------------------

std::optional<size_t> MemberList::Find(uint64_t replica_id) const {
  const auto it = std::lower_bound(
      members.begin(), members.end(), replica_id,
      [](const Member& member, uint64_t id) { return member.replica_id < id; });
  if (it == members.end() || it->replica_id != replica_id) return std::nullopt;
  return static_cast<size_t>(it - members.begin());
}

absl::StatusOr<MemberList> SucceedingList(const MemberList& now, uint64_t epoch,
                                          std::vector<uint64_t> replica_ids,
                                          uint64_t self) {
  if (epoch <= now.epoch) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch ", epoch, " does not follow epoch ", now.epoch,
                     "; choose a larger one"));
  }
  if (epoch - now.epoch > kMaxEpochLeap) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch ", epoch, " leaps ahead of epoch ", now.epoch,
                     ", and there would be few left; choose one at most ",
                     kMaxEpochLeap, " larger"));
  }
  if (replica_ids.size() > kMaxMembers) {
    return absl::InvalidArgumentError(
        absl::StrCat(replica_ids.size(), " members; at most ", kMaxMembers,
                     " are possible"));
  }
  std::sort(replica_ids.begin(), replica_ids.end());
  MemberList next{.epoch = epoch, .members = {}};
  for (const uint64_t id : replica_ids) {
    const std::optional<size_t> before = now.Find(id);
    next.members.push_back({id, before ? now.members[*before].since : epoch});
  }
  if (!next.Find(self)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the member list lacks replica ", HexOf(self),
                     ", on which it is set; set it on one that stays"));
  }
  if (replica_ids.front() == 0 || !Ascending(next.members)) {
    return absl::InvalidArgumentError(
        "a replica id in the member list is 0 or there twice");
  }
  return next;
}

MeetingVerdict Judge(const GcState& mine, uint64_t my_id, const GcState& peer,
                     uint64_t peer_id, const SaidByBoth& said) {
  if (mine.list.epoch == peer.list.epoch) {
    return JudgeAlike(mine, my_id, peer, peer_id, said);
  }
  const bool learn = mine.list.epoch < peer.list.epoch;
  const MemberList& newer = learn ? peer.list : mine.list;
  const MemberList& older = learn ? mine.list : peer.list;
  const uint64_t older_id = learn ? my_id : peer_id;
  for (const uint64_t id : {my_id, peer_id}) {
    if (!newer.Find(id)) return NotMember(id, newer.epoch);
  }
  const uint64_t since = newer.members[*newer.Find(older_id)].since;
  if (older.epoch > 0 && since > older.epoch) {
    return {Meeting::kConflict,
            absl::StrCat("the member list of epoch ", newer.epoch,
                         " does not follow that of epoch ", older.epoch,
                         ": replica ", HexOf(older_id),
                         " was removed in between, or the newer list was set on"
                         " a member that did not have the older one yet (then"
                         " export what it alone holds by `rocksync rescue` and"
                         " start it anew), or it was set on a replica that was"
                         " no member (then set a newer one on a member)")};
  }
  if (const auto stranger = NotListedInBetween(older, newer)) {
    return {Meeting::kConflict,
            absl::StrCat("the member list of epoch ", newer.epoch,
                         " does not follow that of epoch ", older.epoch,
                         ": it has replica ", HexOf(*stranger),
                         " for a member since epoch ",
                         newer.members[*newer.Find(*stranger)].since,
                         ", which the older list does not; it was set on a"
                         " replica that did not have that list. Set one of a"
                         " larger epoch on a member that has it; who then is"
                         " refused exports what it alone holds (`rocksync"
                         " rescue`) and starts anew")};
  }
  // Nothing is known of one that was in no list, nor does it know anything of
  // these: its marks may be of another cluster.
  if (older.epoch > 0) {
    // It was in all epochs since, so it knows of those that reached something.
    if ((learn ? peer : mine).reached.epoch > older.epoch) {
      return AcknowledgedMore(older_id);
    }
    if (const auto back = RolledBack(newer, mine, my_id, peer, peer_id, said)) {
      return AcknowledgedMore(*back);
    }
  }
  return {learn ? Meeting::kLearn : Meeting::kTeach, ""};
}

void Found(const MemberList& list, GcState* mine) {
  if (mine->list.epoch == 0) EnterList(list, mine);
  Restart(list, mine);
}

GcState AsNewReplica(const GcState& copied) {
  GcState renewed;
  SetStableTime(StableTimeOf(copied), &renewed);
  renewed.purged = copied.purged;
  renewed.reached = copied.reached;
  return renewed;
}

MeetingVerdict Join(const GcState& peer, uint64_t my_id, bool has_data,
                    GcState* mine) {
  if (mine->list.epoch > 0) {
    // It had its part in what was reached in the epoch that it leaves.
    SetStableTime(
        Agree(StableTimeOf(*mine), StableTimeOf(peer), mine->list.epoch), mine);
  } else if (has_data && mine->purged < peer.purged) {
    return BehindWithData(my_id);
  } else {
    mine->unproven = has_data;
    mine->bootstrapping = !has_data;
    EnterList(peer.list, mine);
    // Of another cluster, then, or the peer would know.
    if (mine->reached.time > peer.max_acknowledged) mine->reached = {};
    if (!has_data) SetStableTime(StableTimeOf(peer), mine);
  }
  HearMarks(peer, mine);
  Restart(peer.list, mine);
  return {};
}

// --- What was said ----------------------------------------------------------

void Sayings::Note(uint64_t replica_id, const IncarnationId& incarnation,
                   const Announcement& said) {
  if (!said.gc.list.Find(replica_id)) return;
  Last& last = last_[replica_id];
  const Said before = last.incarnation == incarnation ? last.said : Said{};
  last = {incarnation,
          {std::max(said.reading, before.reading),
           std::max(said.gc.max_acknowledged, before.max_acknowledged)}};
}

Said Sayings::Of(uint64_t replica_id, const IncarnationId& incarnation) const {
  const auto last = last_.find(replica_id);
  if (last == last_.end() || last->second.incarnation != incarnation) return {};
  return last->second.said;
}

// --- Knowledge --------------------------------------------------------------

StableTime Agree(const StableTime& a, const StableTime& b, uint64_t epoch) {
  if (a.epoch == epoch && b.epoch == epoch) {
    return {std::max(a.time, b.time), epoch};
  }
  if (a.epoch == epoch) return a;
  if (b.epoch == epoch) return b;
  return {std::min(a.time, b.time), std::min(a.epoch, b.epoch)};
}

uint64_t Hear(const GcState& peer, uint64_t my_id, GcState* mine) {
  uint64_t identity_conflict = 0;
  for (size_t i = 0; i < mine->incarnations.size(); ++i) {
    if (!UniteIncarnations(peer, i, my_id, mine)) {
      identity_conflict = mine->list.members[i].replica_id;
    }
  }
  // Each of them acknowledges what it holds of all members.
  for (size_t i = 0; identity_conflict == 0 && i < mine->acknowledged.size();
       ++i) {
    if (mine->list.members[i].replica_id == my_id) continue;
    mine->acknowledged[i] =
        std::max(mine->acknowledged[i], peer.acknowledged[i]);
  }
  ShortenIncarnations(mine);
  return identity_conflict;
}

Terms AgreeOnTerms(const GcState& said, const GcState& peer, uint64_t my_id,
                   GcState* now, uint64_t* identity_conflict) {
  *identity_conflict = 0;
  const StableTime agreed =
      Agree(StableTimeOf(said), StableTimeOf(peer), said.list.epoch);
  // It lacks what would overrule the peer's old pairs, and hands them on.
  const bool takes_old_pairs = said.bootstrapping && peer.unproven;
  const Terms terms = {said.list.epoch, agreed.time,
                       std::max(said.purged, peer.purged),
                       said.unproven || takes_old_pairs};
  if (said.list.epoch == 0 || now->list != said.list) return terms;
  *identity_conflict = Hear(peer, my_id, now);
  HearMarks(peer, now);
  if (takes_old_pairs && now->bootstrapping) {
    now->bootstrapping = false;
    now->unproven = true;
  }
  SetStableTime(StableTimeOf(*now) == StableTimeOf(said)
                    ? agreed
                    : Agree(StableTimeOf(*now), agreed, now->list.epoch),
                now);
  return terms;
}

void Proved(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
            uint64_t peer_reading, const GcState& peer, GcState* mine) {
  if (mine->list.epoch == 0) return;
  const size_t me = *mine->list.Find(my_id);
  const size_t they = *mine->list.Find(peer_id);
  if (Compare(mine->incarnations[they], peer.incarnations[they]) !=
      Succession::kFollows) {
    return;
  }
  const auto raise = [](uint64_t* to, uint64_t value) {
    *to = std::max(*to, value);
  };
  for (size_t i = 0; i < mine->summary.size(); ++i) {
    if (UniteIncarnations(peer, i, my_id, mine)) {
      raise(&mine->summary[i], peer.summary[i]);
    }
  }
  raise(&mine->summary[me], my_reading);
  raise(&mine->summary[they], peer_reading);
  const uint64_t least =
      *std::min_element(mine->summary.begin(), mine->summary.end());
  raise(&mine->acknowledged[me], least);
  raise(&mine->max_acknowledged, least);
  // A replica that holds what every member held, each by way of proofs, is in
  // reach of all of them, even if they all came with data of their own: else
  // the first stable time that they reach together would shut them out.
  if ((!peer.unproven && !peer.bootstrapping) || least > 0) {
    mine->unproven = mine->bootstrapping = false;
  }
  ShortenIncarnations(mine);
}

GcState Heard(const Announcement& said, uint64_t peer_id,
              const std::function<uint64_t(uint64_t reading)>& trusted) {
  GcState heard = said.gc;
  for (uint64_t& reading : heard.summary) reading = trusted(reading);
  if (const std::optional<size_t> peer = heard.list.Find(peer_id)) {
    heard.incarnations[*peer].clock = said.reading;
  }
  for (Incarnation& incarnation : heard.incarnations)
    incarnation.clock = trusted(incarnation.clock);
  return heard;
}

bool Continues(const GcState& mine, uint64_t peer_id,
               const IncarnationId& incarnation, const GcState& peer) {
  const std::optional<size_t> they = peer.list.Find(peer_id);
  if (!they) return true;
  const Incarnation& now = peer.incarnations[*they];
  const std::optional<size_t> at = mine.list.Find(peer_id);
  return now.incarnation == incarnation &&
         (!at || Compare(mine.incarnations[*at], now) == Succession::kFollows);
}

bool RecordSource(uint64_t peer_id, const IncarnationId& incarnation,
                  uint64_t time, GcState* mine) {
  const std::optional<size_t> at = mine->list.Find(peer_id);
  if (!at) return true;
  Incarnation* const known = &mine->incarnations[*at];
  if (known->incarnation != incarnation) return false;
  known->clock = std::max(known->clock, time);
  return true;
}

void SetOwnIncarnation(uint64_t my_id, const Incarnation& incarnation,
                       GcState* mine) {
  const std::optional<size_t> me = mine->list.Find(my_id);
  if (!me) return;
  mine->incarnations[*me] = incarnation;
  mine->incarnations[*me].clock = incarnation.first_clock;
  ShortenIncarnations(mine);
}

bool WentBack(const GcState& mine, uint64_t peer_id, uint64_t peer_reading,
              const Said& said) {
  const std::optional<size_t> peer = mine.list.Find(peer_id);
  return peer && std::max(peer_reading, said.reading) < mine.summary[*peer];
}

uint64_t Attainable(const GcState& mine) {
  if (mine.acknowledged.empty()) return mine.stable_time;
  return *std::min_element(mine.acknowledged.begin(), mine.acknowledged.end());
}

bool Advance(GcState* mine) {
  const uint64_t to = Attainable(*mine);
  if (to <= mine->stable_time) return false;
  SetStableTime({to, mine->list.epoch}, mine);
  mine->reached = Later(mine->reached, StableTimeOf(*mine));
  return true;
}

uint64_t HeldUpBy(const GcState& mine, uint64_t my_id) {
  const std::optional<size_t> me = mine.list.Find(my_id);
  if (!me || mine.list.members.size() < 2) return 0;
  const auto least = [&](const std::vector<uint64_t>& readings) {
    size_t found = *me == 0 ? 1 : 0;
    for (size_t i = 0; i < readings.size(); ++i) {
      if (i != *me && readings[i] < readings[found]) found = i;
    }
    return found;
  };
  const size_t oldest = least(mine.summary);
  if (mine.summary[oldest] < mine.summary[*me]) {
    return mine.list.members[oldest].replica_id;
  }
  const size_t laggard = least(mine.acknowledged);
  if (mine.acknowledged[laggard] < mine.acknowledged[*me]) {
    return mine.list.members[laggard].replica_id;
  }
  return 0;
}

// --- Bytes ------------------------------------------------------------------

namespace {

bool IsKnown(const Incarnation& incarnation) {
  return incarnation.incarnation.counter > 0;
}

void EncodeIncarnation(const Incarnation& incarnation, std::string* out) {
  PutVarint64(out, incarnation.incarnation.counter);
  if (!IsKnown(incarnation)) return;
  PutFixed64(out, incarnation.incarnation.random);
  PutFixed64(out, incarnation.first_clock);
  PutFixed64(out, incarnation.clock);
  EncodePast(incarnation.past, out);
}

bool DecodeIncarnation(std::string_view* bytes, Incarnation* incarnation) {
  if (!GetVarint64(bytes, &incarnation->incarnation.counter)) return false;
  return !IsKnown(*incarnation) ||
         (GetFixed64(bytes, &incarnation->incarnation.random) &&
          GetFixed64(bytes, &incarnation->first_clock) &&
          GetFixed64(bytes, &incarnation->clock) &&
          DecodePast(bytes, &incarnation->past));
}

}  // namespace

void EncodeGcState(const GcState& gc, std::string* out) {
  const bool with_incarnations =
      std::any_of(gc.incarnations.begin(), gc.incarnations.end(), IsKnown);
  PutFixed8(out,
            static_cast<uint8_t>((gc.unproven ? kUnproven : 0) |
                                 (with_incarnations ? kWithIncarnations : 0) |
                                 (gc.bootstrapping ? kBootstrapping : 0)));
  PutVarint64(out, gc.list.epoch);
  PutFixed64(out, gc.stable_time);
  PutVarint64(out, gc.stable_epoch);
  PutFixed64(out, gc.purged);
  PutFixed64(out, gc.reached.time);
  PutVarint64(out, gc.reached.epoch);
  PutFixed64(out, gc.max_acknowledged);
  PutVarint64(out, gc.list.members.size());
  for (size_t i = 0; i < gc.list.members.size(); ++i) {
    PutFixed64(out, gc.list.members[i].replica_id);
    PutVarint64(out, gc.list.members[i].since);
    PutFixed64(out, gc.summary[i]);
    PutFixed64(out, gc.acknowledged[i]);
  }
  if (!with_incarnations) return;
  for (const Incarnation& incarnation : gc.incarnations)
    EncodeIncarnation(incarnation, out);
}

bool DecodeGcState(std::string_view bytes, GcState* gc) {
  *gc = {};
  uint8_t flags = 0;
  uint64_t count = 0;
  MemberList* const list = &gc->list;
  if (!GetFixed8(&bytes, &flags) ||
      (flags & ~(kUnproven | kWithIncarnations | kBootstrapping)) != 0 ||
      !GetVarint64(&bytes, &list->epoch) ||
      !GetFixed64(&bytes, &gc->stable_time) ||
      !GetVarint64(&bytes, &gc->stable_epoch) ||
      !GetFixed64(&bytes, &gc->purged) ||
      !GetFixed64(&bytes, &gc->reached.time) ||
      !GetVarint64(&bytes, &gc->reached.epoch) ||
      !GetFixed64(&bytes, &gc->max_acknowledged) ||
      !GetVarint64(&bytes, kMaxMembers, &count)) {
    return false;
  }
  gc->unproven = (flags & kUnproven) != 0;
  gc->bootstrapping = (flags & kBootstrapping) != 0;
  const bool with_incarnations = (flags & kWithIncarnations) != 0;
  for (uint64_t i = 0; i < count; ++i) {
    Member member;
    uint64_t holds = 0;
    uint64_t acknowledged = 0;
    if (!GetFixed64(&bytes, &member.replica_id) ||
        !GetVarint64(&bytes, list->epoch, &member.since) ||
        !GetFixed64(&bytes, &holds) || !GetFixed64(&bytes, &acknowledged)) {
      return false;
    }
    list->members.push_back(member);
    gc->summary.push_back(holds);
    gc->acknowledged.push_back(acknowledged);
  }
  std::vector<Incarnation>* const incarnations = &gc->incarnations;
  incarnations->resize(count);
  for (uint64_t i = 0; with_incarnations && i < count; ++i) {
    if (!DecodeIncarnation(&bytes, &(*incarnations)[i])) return false;
  }
  return bytes.empty() &&
         with_incarnations ==
             std::any_of(incarnations->begin(), incarnations->end(), IsKnown) &&
         (count > 0) == (list->epoch > 0) &&
         (list->epoch == 0 ||
          std::max(gc->stable_epoch, gc->reached.epoch) <= list->epoch) &&
         gc->purged >= gc->stable_time &&
         !(gc->unproven && gc->bootstrapping) && Ascending(list->members);
}

std::string EncodeAnnouncement(const Announcement& announcement) {
  std::string out(1, static_cast<char>(MessageType::kAnnouncement));
  PutFixed64(&out, announcement.reading);
  EncodeGcState(announcement.gc, &out);
  return out;
}

bool DecodeAnnouncement(std::string_view message, Announcement* announcement) {
  uint8_t head = 0;
  return GetFixed8(&message, &head) &&
         head == static_cast<uint8_t>(MessageType::kAnnouncement) &&
         GetFixed64(&message, &announcement->reading) &&
         DecodeGcState(message, &announcement->gc);
}

}  // namespace rocksync

#include "replication/protocol/forgetting.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/life.h"
#include "replication/protocol/messages.h"
#include "sketch/coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kUnproven = 0x01;
constexpr uint8_t kWithLives = 0x02;
constexpr uint8_t kFilling = 0x04;

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

// What a member, listed since this epoch, has promised by what a witness knows:
// it vouched for as much, and for every horizon that was reached meanwhile.
uint64_t KnownPromise(const Forgetting& witness, uint64_t id, uint64_t since) {
  uint64_t promised = 0;
  if (const std::optional<size_t> at = witness.list.Find(id)) {
    promised = witness.vouched[*at];
  }
  if (since <= witness.reached.epoch) {
    promised = std::max(promised, witness.reached.time);
  }
  return promised;
}

// Promises are written down before they are said, so nobody who kept its disk
// falls behind what others heard of it.
bool WentBackOnIt(const Forgetting& itself, uint64_t id, uint64_t since,
                  const Said& said, const Forgetting& witness) {
  return std::max(itself.promised, said.promised) <
         KnownPromise(witness, id, since);
}

// Of two with one list, or of which `list` is the newer one.
std::optional<uint64_t> RolledBack(const MemberList& list,
                                   const Forgetting& mine, uint64_t my_id,
                                   const Forgetting& peer, uint64_t peer_id,
                                   const SaidByBoth& said) {
  const auto since = [&](uint64_t id) {
    return list.members[*list.Find(id)].since;
  };
  if (WentBackOnIt(mine, my_id, since(my_id), said.mine, peer)) return my_id;
  if (WentBackOnIt(peer, peer_id, since(peer_id), said.theirs, mine)) {
    return peer_id;
  }
  return std::nullopt;
}

// The mark that says more of what members must have promised.
Horizon Later(const Horizon& a, const Horizon& b) {
  const auto rank = [](const Horizon& horizon) {
    return std::pair(horizon.epoch, horizon.time);
  };
  return rank(a) < rank(b) ? b : a;
}

void SetHorizon(const Horizon& horizon, Forgetting* mine) {
  mine->horizon = horizon.time;
  mine->horizon_epoch = horizon.epoch;
  mine->purged = std::max(mine->purged, horizon.time);
}

// Marks that only grow. `purged` does not where it says how old the data are:
// such a replica is let in by those alone that know of no greater one.
void HearMarks(const Forgetting& peer, Forgetting* mine) {
  if (!mine->unproven) mine->purged = std::max(mine->purged, peer.purged);
  mine->reached = Later(mine->reached, peer.reached);
}

MeetingVerdict PromisedMore(uint64_t id) {
  return {Meeting::kRolledBack,
          absl::StrCat("replica ", HexOf(id),
                       " has promised more than it now knows of; if this goes"
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
std::optional<uint64_t> OutOfReach(const Forgetting& a, uint64_t a_id,
                                   const Forgetting& b, uint64_t b_id) {
  if (a.unproven && a.purged < b.purged) return a_id;
  if (b.unproven && b.purged < a.purged) return b_id;
  return std::nullopt;
}

MeetingVerdict BehindWithData(uint64_t id) {
  return {Meeting::kOutOfReach,
          absl::StrCat("replica ", HexOf(id),
                       " joined with data, or took pairs of a member that did,"
                       " that may have been deleted and forgotten since;"
                       " export what the one with the data alone holds"
                       " (`rocksync rescue`) and start it empty, or from a"
                       " fresh copy of a member; ForgettingStats::unproven"
                       " says which members are such")};
}

// A copy that is opened as a new replica keeps the epochs in which its horizons
// were reached. None was in this list, whatever its number; and one that was
// reached in this epoch or a later one was in the lists of another cluster, to
// whose members it says nothing here.
void EnterList(const MemberList& list, Forgetting* mine) {
  mine->horizon_epoch = std::min(mine->horizon_epoch, list.epoch - 1);
  if (mine->reached.epoch >= list.epoch) mine->reached = {};
}

void Restart(const MemberList& list, Forgetting* mine) {
  mine->list = list;
  mine->holds.assign(list.members.size(), 0);
  mine->vouched.assign(list.members.size(), 0);
  mine->lives.assign(list.members.size(), {});
}

// Of lives that ended before what every member vouches for nobody's knowledge
// is left.
void ShortenLives(Forgetting* mine) {
  const uint64_t attained = Attainable(*mine);
  for (Life& life : mine->lives) Shorten(attained, &life.past);
}

// False: the two know the member at `i` by lives that do not follow one
// another.
bool UniteLives(const Forgetting& peer, size_t i, uint64_t my_id,
                Forgetting* mine) {
  Life* const life = &mine->lives[i];
  if (mine->list.members[i].replica_id == my_id) {
    return Compare(peer.lives[i], *life) == Succession::kFollows;
  }
  return Unite(peer.lives[i], life);
}

MeetingVerdict JudgeAlike(const Forgetting& mine, uint64_t my_id,
                          const Forgetting& peer, uint64_t peer_id,
                          const SaidByBoth& said) {
  const uint64_t epoch = mine.list.epoch;
  if (epoch == 0) {
    if (mine.horizon == peer.horizon && mine.purged == peer.purged) return {};
    return {Meeting::kOutOfReach,
            absl::StrCat("replicas ", HexOf(my_id), " and ", HexOf(peer_id),
                         " have no member list, and one has forgotten deletes"
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
    return PromisedMore(*back);
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

MeetingVerdict Judge(const Forgetting& mine, uint64_t my_id,
                     const Forgetting& peer, uint64_t peer_id,
                     const SaidByBoth& said) {
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
      return PromisedMore(older_id);
    }
    if (const auto back = RolledBack(newer, mine, my_id, peer, peer_id, said)) {
      return PromisedMore(*back);
    }
  }
  return {learn ? Meeting::kLearn : Meeting::kTeach, ""};
}

void Found(const MemberList& list, Forgetting* mine) {
  if (mine->list.epoch == 0) EnterList(list, mine);
  Restart(list, mine);
}

Forgetting AsNewReplica(const Forgetting& copied) {
  Forgetting renewed;
  SetHorizon(HorizonOf(copied), &renewed);
  renewed.purged = copied.purged;
  renewed.reached = copied.reached;
  return renewed;
}

MeetingVerdict Join(const Forgetting& peer, uint64_t my_id, bool has_data,
                    Forgetting* mine) {
  if (mine->list.epoch > 0) {
    // It had its part in what was reached in the epoch that it leaves.
    SetHorizon(Agree(HorizonOf(*mine), HorizonOf(peer), mine->list.epoch),
               mine);
  } else if (has_data && mine->purged < peer.purged) {
    return BehindWithData(my_id);
  } else {
    mine->unproven = has_data;
    mine->filling = !has_data;
    EnterList(peer.list, mine);
    // Of another cluster, then, or the peer would know.
    if (mine->reached.time > peer.promised) mine->reached = {};
    if (!has_data) SetHorizon(HorizonOf(peer), mine);
  }
  HearMarks(peer, mine);
  Restart(peer.list, mine);
  return {};
}

// --- What was said ----------------------------------------------------------

void Sayings::Note(uint64_t replica_id, const Incarnation& life,
                   const Announcement& said) {
  if (!said.forgetting.list.Find(replica_id)) return;
  Last& last = last_[replica_id];
  const Said before = last.life == life ? last.said : Said{};
  last = {life,
          {std::max(said.reading, before.reading),
           std::max(said.forgetting.promised, before.promised)}};
}

Said Sayings::Of(uint64_t replica_id, const Incarnation& life) const {
  const auto last = last_.find(replica_id);
  if (last == last_.end() || last->second.life != life) return {};
  return last->second.said;
}

// --- Knowledge --------------------------------------------------------------

Horizon Agree(const Horizon& a, const Horizon& b, uint64_t epoch) {
  if (a.epoch == epoch && b.epoch == epoch) {
    return {std::max(a.time, b.time), epoch};
  }
  if (a.epoch == epoch) return a;
  if (b.epoch == epoch) return b;
  return {std::min(a.time, b.time), std::min(a.epoch, b.epoch)};
}

uint64_t Hear(const Forgetting& peer, uint64_t my_id, Forgetting* mine) {
  uint64_t two_lives = 0;
  for (size_t i = 0; i < mine->lives.size(); ++i) {
    if (!UniteLives(peer, i, my_id, mine)) {
      two_lives = mine->list.members[i].replica_id;
    }
  }
  // Each of them vouches for what it holds of all members.
  for (size_t i = 0; two_lives == 0 && i < mine->vouched.size(); ++i) {
    if (mine->list.members[i].replica_id == my_id) continue;
    mine->vouched[i] = std::max(mine->vouched[i], peer.vouched[i]);
  }
  ShortenLives(mine);
  return two_lives;
}

Terms AgreeUpon(const Forgetting& said, const Forgetting& peer, uint64_t my_id,
                Forgetting* now, uint64_t* two_lives) {
  *two_lives = 0;
  const Horizon agreed =
      Agree(HorizonOf(said), HorizonOf(peer), said.list.epoch);
  // It lacks what would overrule the peer's old pairs, and hands them on.
  const bool takes_old_pairs = said.filling && peer.unproven;
  const Terms terms = {said.list.epoch, agreed.time,
                       std::max(said.purged, peer.purged),
                       said.unproven || takes_old_pairs};
  if (said.list.epoch == 0 || now->list != said.list) return terms;
  *two_lives = Hear(peer, my_id, now);
  HearMarks(peer, now);
  if (takes_old_pairs && now->filling) {
    now->filling = false;
    now->unproven = true;
  }
  SetHorizon(HorizonOf(*now) == HorizonOf(said)
                 ? agreed
                 : Agree(HorizonOf(*now), agreed, now->list.epoch),
             now);
  return terms;
}

void Proved(uint64_t my_id, uint64_t my_reading, uint64_t peer_id,
            uint64_t peer_reading, const Forgetting& peer, Forgetting* mine) {
  if (mine->list.epoch == 0) return;
  const size_t me = *mine->list.Find(my_id);
  const size_t they = *mine->list.Find(peer_id);
  if (Compare(mine->lives[they], peer.lives[they]) != Succession::kFollows) {
    return;
  }
  const auto raise = [](uint64_t* to, uint64_t value) {
    *to = std::max(*to, value);
  };
  for (size_t i = 0; i < mine->holds.size(); ++i) {
    if (UniteLives(peer, i, my_id, mine)) {
      raise(&mine->holds[i], peer.holds[i]);
    }
  }
  raise(&mine->holds[me], my_reading);
  raise(&mine->holds[they], peer_reading);
  const uint64_t least =
      *std::min_element(mine->holds.begin(), mine->holds.end());
  raise(&mine->vouched[me], least);
  raise(&mine->promised, least);
  // Whoever holds what every member held, each by way of proofs, is in reach of
  // all of them, even if they all came with data of their own: else the first
  // horizon that they reach together would shut them out.
  if ((!peer.unproven && !peer.filling) || least > 0) {
    mine->unproven = mine->filling = false;
  }
  ShortenLives(mine);
}

Forgetting Heard(const Announcement& said, uint64_t peer_id,
                 const std::function<uint64_t(uint64_t reading)>& trusted) {
  Forgetting heard = said.forgetting;
  for (uint64_t& reading : heard.holds) reading = trusted(reading);
  if (const std::optional<size_t> peer = heard.list.Find(peer_id)) {
    heard.lives[*peer].clock = said.reading;
  }
  for (Life& life : heard.lives) life.clock = trusted(life.clock);
  return heard;
}

bool GoesOn(const Forgetting& mine, uint64_t peer_id, const Incarnation& life,
            const Forgetting& peer) {
  const std::optional<size_t> they = peer.list.Find(peer_id);
  if (!they) return true;
  const Life& now = peer.lives[*they];
  const std::optional<size_t> at = mine.list.Find(peer_id);
  return now.incarnation == life &&
         (!at || Compare(mine.lives[*at], now) == Succession::kFollows);
}

bool TakesFrom(uint64_t peer_id, const Incarnation& life, uint64_t time,
               Forgetting* mine) {
  const std::optional<size_t> at = mine->list.Find(peer_id);
  if (!at) return true;
  Life* const known = &mine->lives[*at];
  if (known->incarnation != life) return false;
  known->clock = std::max(known->clock, time);
  return true;
}

void SetOwnLife(uint64_t my_id, const Life& life, Forgetting* mine) {
  const std::optional<size_t> me = mine->list.Find(my_id);
  if (!me) return;
  mine->lives[*me] = life;
  mine->lives[*me].clock = life.first_clock;
  ShortenLives(mine);
}

bool WentBack(const Forgetting& mine, uint64_t peer_id, uint64_t peer_reading,
              const Said& said) {
  const std::optional<size_t> peer = mine.list.Find(peer_id);
  return peer && std::max(peer_reading, said.reading) < mine.holds[*peer];
}

uint64_t Attainable(const Forgetting& mine) {
  if (mine.vouched.empty()) return mine.horizon;
  return *std::min_element(mine.vouched.begin(), mine.vouched.end());
}

bool Advance(Forgetting* mine) {
  const uint64_t to = Attainable(*mine);
  if (to <= mine->horizon) return false;
  SetHorizon({to, mine->list.epoch}, mine);
  mine->reached = Later(mine->reached, HorizonOf(*mine));
  return true;
}

uint64_t HeldUpBy(const Forgetting& mine, uint64_t my_id) {
  const std::optional<size_t> me = mine.list.Find(my_id);
  if (!me || mine.list.members.size() < 2) return 0;
  const auto least = [&](const std::vector<uint64_t>& readings) {
    size_t found = *me == 0 ? 1 : 0;
    for (size_t i = 0; i < readings.size(); ++i) {
      if (i != *me && readings[i] < readings[found]) found = i;
    }
    return found;
  };
  const size_t oldest = least(mine.holds);
  if (mine.holds[oldest] < mine.holds[*me]) {
    return mine.list.members[oldest].replica_id;
  }
  const size_t laggard = least(mine.vouched);
  if (mine.vouched[laggard] < mine.vouched[*me]) {
    return mine.list.members[laggard].replica_id;
  }
  return 0;
}

// --- Bytes ------------------------------------------------------------------

namespace {

bool IsKnown(const Life& life) { return life.incarnation.counter > 0; }

void EncodeLife(const Life& life, std::string* out) {
  PutVarint64(out, life.incarnation.counter);
  if (!IsKnown(life)) return;
  PutFixed64(out, life.incarnation.random);
  PutFixed64(out, life.first_clock);
  PutFixed64(out, life.clock);
  EncodePast(life.past, out);
}

bool DecodeLife(std::string_view* bytes, Life* life) {
  if (!GetVarint64(bytes, &life->incarnation.counter)) return false;
  return !IsKnown(*life) ||
         (GetFixed64(bytes, &life->incarnation.random) &&
          GetFixed64(bytes, &life->first_clock) &&
          GetFixed64(bytes, &life->clock) && DecodePast(bytes, &life->past));
}

}  // namespace

void EncodeForgetting(const Forgetting& forgetting, std::string* out) {
  const bool with_lives =
      std::any_of(forgetting.lives.begin(), forgetting.lives.end(), IsKnown);
  PutFixed8(out, static_cast<uint8_t>((forgetting.unproven ? kUnproven : 0) |
                                      (with_lives ? kWithLives : 0) |
                                      (forgetting.filling ? kFilling : 0)));
  PutVarint64(out, forgetting.list.epoch);
  PutFixed64(out, forgetting.horizon);
  PutVarint64(out, forgetting.horizon_epoch);
  PutFixed64(out, forgetting.purged);
  PutFixed64(out, forgetting.reached.time);
  PutVarint64(out, forgetting.reached.epoch);
  PutFixed64(out, forgetting.promised);
  PutVarint64(out, forgetting.list.members.size());
  for (size_t i = 0; i < forgetting.list.members.size(); ++i) {
    PutFixed64(out, forgetting.list.members[i].replica_id);
    PutVarint64(out, forgetting.list.members[i].since);
    PutFixed64(out, forgetting.holds[i]);
    PutFixed64(out, forgetting.vouched[i]);
  }
  if (!with_lives) return;
  for (const Life& life : forgetting.lives) EncodeLife(life, out);
}

bool DecodeForgetting(std::string_view bytes, Forgetting* forgetting) {
  *forgetting = {};
  uint8_t flags = 0;
  uint64_t count = 0;
  MemberList* const list = &forgetting->list;
  if (!GetFixed8(&bytes, &flags) ||
      (flags & ~(kUnproven | kWithLives | kFilling)) != 0 ||
      !GetVarint64(&bytes, &list->epoch) ||
      !GetFixed64(&bytes, &forgetting->horizon) ||
      !GetVarint64(&bytes, &forgetting->horizon_epoch) ||
      !GetFixed64(&bytes, &forgetting->purged) ||
      !GetFixed64(&bytes, &forgetting->reached.time) ||
      !GetVarint64(&bytes, &forgetting->reached.epoch) ||
      !GetFixed64(&bytes, &forgetting->promised) ||
      !GetVarint64(&bytes, kMaxMembers, &count)) {
    return false;
  }
  forgetting->unproven = (flags & kUnproven) != 0;
  forgetting->filling = (flags & kFilling) != 0;
  const bool with_lives = (flags & kWithLives) != 0;
  for (uint64_t i = 0; i < count; ++i) {
    Member member;
    uint64_t holds = 0;
    uint64_t vouched = 0;
    if (!GetFixed64(&bytes, &member.replica_id) ||
        !GetVarint64(&bytes, list->epoch, &member.since) ||
        !GetFixed64(&bytes, &holds) || !GetFixed64(&bytes, &vouched)) {
      return false;
    }
    list->members.push_back(member);
    forgetting->holds.push_back(holds);
    forgetting->vouched.push_back(vouched);
  }
  std::vector<Life>* const lives = &forgetting->lives;
  lives->resize(count);
  for (uint64_t i = 0; with_lives && i < count; ++i) {
    if (!DecodeLife(&bytes, &(*lives)[i])) return false;
  }
  return bytes.empty() &&
         with_lives == std::any_of(lives->begin(), lives->end(), IsKnown) &&
         (count > 0) == (list->epoch > 0) &&
         (list->epoch == 0 ||
          std::max(forgetting->horizon_epoch, forgetting->reached.epoch) <=
              list->epoch) &&
         forgetting->purged >= forgetting->horizon &&
         !(forgetting->unproven && forgetting->filling) &&
         Ascending(list->members);
}

std::string EncodeAnnouncement(const Announcement& announcement) {
  std::string out(1, static_cast<char>(MessageType::kAnnouncement));
  PutFixed64(&out, announcement.reading);
  EncodeForgetting(announcement.forgetting, &out);
  return out;
}

bool DecodeAnnouncement(std::string_view message, Announcement* announcement) {
  uint8_t head = 0;
  return GetFixed8(&message, &head) &&
         head == static_cast<uint8_t>(MessageType::kAnnouncement) &&
         GetFixed64(&message, &announcement->reading) &&
         DecodeForgetting(message, &announcement->forgetting);
}

}  // namespace rocksync

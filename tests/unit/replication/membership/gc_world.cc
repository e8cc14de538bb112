#include "tests/unit/replication/membership/gc_world.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

void MustSet(uint64_t epoch, const std::vector<uint64_t>& ids, uint64_t self,
             GcState* knows) {
  if (!knows->SetMembers(epoch, ids, self).ok()) std::abort();
}

}  // namespace

// Everybody holds the pair that is going to be deleted.
GcWorld::GcWorld(const WorldShape& shape)
    : shape_(shape), replicas_(shape.replicas) {
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    replicas_[i].id = i + 1;
    if (i < shape.founders) ids.push_back(IdOf(i));
  }
  GcState founded;
  MustSet(1, ids, IdOf(0), &founded);
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const bool founder = i < shape.founders;
    if (founder || i + shape.old_new_members >= replicas_.size()) {
      replicas_[i].now = {true, false, 1, IdOf(0)};
      Sync(i);
    }
    if (founder) replicas_[i].knows = founded;
    BeginIncarnation(i);
  }
}

void GcWorld::ForEachStep(
    const std::function<void(const GcWorld&, const std::string&)>& visit)
    const {
  const auto step = [&](const std::string& name, const auto& change) {
    GcWorld next = *this;
    if (change(&next)) visit(next, name);
  };
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const bool member = replicas_[i].knows.epoch > 0;
    if (replicas_[i].lost) continue;
    if (shape_.deletes > 0 && (member || shape_.outside_deletes)) {
      step(absl::StrCat("delete at ", i), [i](GcWorld* next) {
        next->Delete(i);
        return true;
      });
    }
    if (shape_.ticks > 0 && member) {
      step(absl::StrCat("tick at ", i), [i](GcWorld* next) {
        next->Tick(i);
        return true;
      });
    }
    if (shape_.crashes > 0) {
      step(absl::StrCat("crash of ", i), [i](GcWorld* next) {
        next->Crash(i);
        return true;
      });
    }
    if (shape_.copies > 0 && replicas_.size() < kMost) {
      step(absl::StrCat("a copy of ", i), [i](GcWorld* next) {
        next->Copy(i);
        return true;
      });
    }
    if (replicas_[i].knows.AttainableTime() > replicas_[i].knows.stable_time ||
        shape_.fault == GcFault::kCollectLocally) {
      step(absl::StrCat("advance at ", i), [i](GcWorld* next) {
        next->AdvanceStableTime(i);
        return true;
      });
    }
    if (shape_.losses > 0) {
      step(absl::StrCat("loss of ", i), [i](GcWorld* next) {
        next->Lose(i);
        return true;
      });
    }
    for (size_t j = i + 1; j < replicas_.size(); ++j) {
      if (replicas_[j].lost) continue;
      step(absl::StrCat(i, " meets ", j), [i, j](GcWorld* next) {
        if (next->Connect(i, j)) next->Prove(i, j);
        next->LinkOf(i, j).reset();
        return true;
      });
      if (shape_.connects > 0) {
        step(absl::StrCat(i, " connects to ", j), [i, j](GcWorld* next) {
          --next->shape_.connects;
          return next->Connect(i, j);
        });
      }
      if (Usable(i, j)) {
        step(absl::StrCat(i, " and ", j, " use their connection"),
             [i, j](GcWorld* next) {
               next->Prove(i, j);
               next->LinkOf(i, j).reset();
               return true;
             });
      }
      if (shape_.broken == 0) continue;
      for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
        step(absl::StrCat("a pair of ", from, " reaches ", to),
             [i, j, from = from, to = to](GcWorld* next) {
               --next->shape_.broken;
               const bool met = next->Connect(i, j) && next->Ship(from, to);
               next->LinkOf(i, j).reset();
               return met;
             });
      }
    }
  }
  const bool first =
      std::all_of(replicas_.begin(), replicas_.end(),
                  [](const Replica& one) { return one.knows.epoch <= 1; });
  if ((shape_.removes == 0 && !shape_.admits) || !first) return;
  for (size_t i = 0; i < (shape_.anywhere ? shape_.founders : 1); ++i) {
    if (replicas_[i].lost || replicas_[i].knows.epoch == 0) continue;
    step(absl::StrCat("a new list at ", i), [i](GcWorld* next) {
      next->SetSecondList(i);
      return true;
    });
  }
}

void GcWorld::SetSecondList(size_t at) {
  std::vector<uint64_t> ids;
  const size_t stay = shape_.admits ? shape_.replicas : shape_.founders;
  for (size_t i = 0; i + shape_.removes < stay; ++i) ids.push_back(IdOf(i));
  GcState& knows = replicas_[at].knows;
  const GcState before = knows;
  ++replicas_[at].clock;
  MustSet(2, ids, IdOf(at), &knows);
  knows.SetOwnIncarnation(IdOf(at), replicas_[at].incarnation);
  KeepProofs(before, &knows);
}

void GcWorld::Lose(size_t i) {
  --shape_.losses;
  replicas_[i].lost = true;
  LeaveLinks(i);
}

void GcWorld::Delete(size_t i) {
  --shape_.deletes;
  Replica& replica = replicas_[i];
  replica.now = {true, true, ++replica.clock, IdOf(i)};
}

void GcWorld::Tick(size_t i) {
  --shape_.ticks;
  ++replicas_[i].clock;
}

// The clock starts from a lease.
void GcWorld::Crash(size_t i) {
  --shape_.crashes;
  replicas_[i].now = replicas_[i].synced;
  LeaveLinks(i);
  BeginIncarnation(i);
}

void GcWorld::LeaveLinks(size_t i) {
  for (size_t j = 0; j < kMost; ++j) {
    links_[i][j].reset();
    links_[j][i].reset();
  }
}

// Of two that come of one incarnation each has random bits of its own.
void GcWorld::BeginIncarnation(size_t i) {
  Replica& replica = replicas_[i];
  Incarnation& incarnation = replica.incarnation;
  if (incarnation.incarnation.counter == 0) {
    incarnation.past.since = 0;
  } else {
    Append(incarnation.incarnation, replica.clock, &incarnation.past);
  }
  incarnation.incarnation = {incarnation.incarnation.counter + 1, i};
  incarnation.first_clock = incarnation.clock = replica.clock;
  replica.knows.SetOwnIncarnation(IdOf(i), incarnation);
}

// Of all that is there, durable or not, as a checkpoint has it.
void GcWorld::Copy(size_t i) {
  --shape_.copies;
  replicas_[i].twin = true;
  replicas_.push_back(replicas_[i]);
  Sync(replicas_.size() - 1);
  BeginIncarnation(replicas_.size() - 1);
}

GcState GcWorld::HeardFrom(size_t replica) const {
  const Announcement said = {replicas_[replica].clock,
                             replicas_[replica].knows};
  GcState heard =
      said.AsTrusted(IdOf(replica), [](uint64_t reading) { return reading; });
  if (shape_.fault == GcFault::kClonesForOne) {
    for (Member& member : heard.members) member.incarnation = {};
  }
  return heard;
}

bool GcWorld::MayMeet(size_t a, size_t b) const {
  if (IdOf(a) == IdOf(b)) return false;
  if (shape_.fault == GcFault::kClonesForOne) return true;
  const auto goes_on = [this](size_t one, size_t other) {
    return replicas_[one].knows.AcceptsIncarnation(
        IdOf(other), replicas_[other].incarnation.incarnation,
        HeardFrom(other));
  };
  return goes_on(a, b) && goes_on(b, a);
}

bool GcWorld::Connect(size_t a, size_t b) {
  GcState& mine = replicas_[a].knows;
  GcState& theirs = replicas_[b].knows;
  PeerJudgement verdict = mine.JudgePeer(IdOf(a), theirs, IdOf(b));
  const PeerJudgement other = theirs.JudgePeer(IdOf(b), mine, IdOf(a));
  if ((verdict.verdict == PeerVerdict::kPeerNewer) !=
          (other.verdict == PeerVerdict::kOursNewer) ||
      (verdict.verdict == PeerVerdict::kSameList) !=
          (other.verdict == PeerVerdict::kSameList)) {
    violation_ = "the two come to different verdicts: " + verdict.why;
  }
  if (shape_.fault == GcFault::kLetAnybodyIn &&
      verdict.verdict == PeerVerdict::kOutOfReach) {
    verdict.verdict = PeerVerdict::kSameList;
  }
  if (verdict.verdict == PeerVerdict::kPeerNewer) return Learn(a, b);
  if (verdict.verdict == PeerVerdict::kOursNewer) return Learn(b, a);
  if (verdict.verdict != PeerVerdict::kSameList || !MayMeet(a, b)) return false;
  Link link;
  link.said = {HeardFrom(a), HeardFrom(b)};
  link.readings = {replicas_[a].clock, replicas_[b].clock};
  link.terms = {AgreeHere(link, 0, a), AgreeHere(link, 1, b)};
  LinkOf(a, b) = std::move(link);
  return true;
}

Terms GcWorld::AgreeHere(const Link& link, size_t side, size_t i) {
  const GcState& said = link.said[side];
  const GcState& peer = link.said[1 - side];
  GcState& knows = replicas_[i].knows;
  uint64_t identity_conflict = 0;
  Terms terms = knows.AgreeOnTerms(said, peer, IdOf(i), &identity_conflict);
  if (shape_.fault == GcFault::kLargerStableTime) {
    const StableTime larger =
        said.stable_time < peer.stable_time ? peer.stable() : said.stable();
    knows.stable_time = terms.stable_time = larger.time;
    knows.stable_epoch = larger.epoch;
  }
  BreakMarks(i);
  if (shape_.fault == GcFault::kByStableTime) terms = knows.terms();
  StableTimeMoved(i);
  return terms;
}

void GcWorld::BreakMarks(size_t i) {
  GcState& knows = replicas_[i].knows;
  if (shape_.fault == GcFault::kBootstrappingCounts)
    knows.bootstrapping = false;
  if (shape_.fault != GcFault::kByStableTime) return;
  knows.purged = knows.stable_time;
  knows.reached = knows.stable();
}

bool GcWorld::Usable(size_t a, size_t b) const {
  const std::optional<Link>& link = links_[a][b];
  if (!link) return false;
  return replicas_[a].knows.terms() == link->terms[0] &&
         replicas_[b].knows.terms() == link->terms[1];
}

void GcWorld::Take(size_t to, const Record& record) {
  Replica& replica = replicas_[to];
  if (!record.Beats(replica.now)) return;
  if (!record.tombstone && replica.dropped.Beats(record) && !replica.twin) {
    violation_ = absl::StrCat("a deleted key lives again at ", to);
  }
  replica.now = record;
  replica.clock = std::max(replica.clock, record.time);
}

bool GcWorld::Ship(size_t from, size_t to) {
  const Record& record = replicas_[from].now;
  const bool own = record.present && record.replica == IdOf(from);
  if (shape_.fault != GcFault::kClonesForOne &&
      !replicas_[to].knows.RecordSender(IdOf(from),
                                        replicas_[from].incarnation.incarnation,
                                        own ? record.time : 0)) {
    return false;
  }
  if (shape_.fault != GcFault::kShipUnsynced) Sync(from);
  Take(to, record);
  return true;
}

void GcWorld::Prove(size_t a, size_t b) {
  const Link link = *LinkOf(a, b);
  if (!Ship(a, b) || !Ship(b, a)) return;
  const uint64_t clock = std::max(replicas_[a].clock, replicas_[b].clock);
  replicas_[a].clock = replicas_[b].clock = clock;
  if (shape_.fault != GcFault::kCountUnsynced) {
    Sync(a);
    Sync(b);
  }
  replicas_[a].knows.RecordProof(IdOf(a), link.readings[0], IdOf(b),
                                 link.readings[1], link.said[1]);
  replicas_[b].knows.RecordProof(IdOf(b), link.readings[1], IdOf(a),
                                 link.readings[0], link.said[0]);
}

// They meet again afterwards, if they can: never a connection.
bool GcWorld::Learn(size_t pupil, size_t teacher) {
  Replica& replica = replicas_[pupil];
  GcState said = replicas_[teacher].knows;
  if (shape_.fault == GcFault::kLetAnybodyIn) {
    said.stable_time = said.purged = 0;
  }
  const GcState before = replica.knows;
  replica.clock = std::max(replica.clock, replicas_[teacher].clock) + 1;
  (void)replica.knows.InstallList(said, IdOf(pupil), replica.now.present);
  replica.knows.SetOwnIncarnation(IdOf(pupil), replica.incarnation);
  KeepProofs(before, &replica.knows);
  BreakMarks(pupil);
  StableTimeMoved(pupil);
  return false;
}

void GcWorld::KeepProofs(const GcState& before, GcState* knows) const {
  if (shape_.fault != GcFault::kKeepProofs) return;
  for (Member& member : knows->members) {
    const Member* const was = before.Find(member.replica_id);
    if (was == nullptr) continue;
    member.summary = was->summary;
    member.acknowledged = was->acknowledged;
  }
}

void GcWorld::StableTimeMoved(size_t i) {
  Forget(i, &replicas_[i].synced);
  Forget(i, &replicas_[i].now);
}

void GcWorld::AdvanceStableTime(size_t i) {
  GcState& knows = replicas_[i].knows;
  if (shape_.fault == GcFault::kCollectLocally && knows.epoch > 0) {
    knows.stable_time = UINT64_MAX;
    for (const Member& member : knows.members) {
      knows.stable_time = std::min(knows.stable_time, member.summary);
    }
    knows.purged = std::max(knows.purged, knows.stable_time);
    knows.stable_epoch = knows.epoch;
  } else {
    (void)knows.AdvanceStableTime();
  }
  StableTimeMoved(i);
}

// The promise: nobody who could hand it on holds what the tombstone deleted. Of
// two that run under one identity nothing is promised: one of them goes.
void GcWorld::Forget(size_t i, Record* record) {
  const GcState& knows = replicas_[i].knows;
  if (!record->present || !record->tombstone ||
      record->time > knows.stable_time) {
    return;
  }
  for (size_t j = 0; j < replicas_.size(); ++j) {
    const Replica& other = replicas_[j];
    if (knows.Find(other.id) == nullptr || other.twin || other.lost ||
        other.knows.epoch == 0 || other.knows.may_hold_deleted_pairs) {
      continue;
    }
    for (const Record* held : {&other.now, &other.synced}) {
      if (held->present && !held->tombstone && record->Beats(*held)) {
        violation_ =
            absl::StrCat(i, " collects what ", j, " does not durably know");
      }
    }
  }
  if (record->Beats(replicas_[i].dropped)) replicas_[i].dropped = *record;
  *record = {};
}

bool GcWorld::collected_all() const {
  return std::all_of(replicas_.begin(), replicas_.end(),
                     [](const Replica& replica) {
                       return !replica.now.present && replica.dropped.present;
                     });
}

std::string GcWorld::Fingerprint() const {
  std::string out;
  const auto put = [&out](uint64_t value) { PutVarint64(&out, value); };
  const auto put_record = [&](const Record& record) {
    put(record.present ? 4 * record.time + 2 * record.tombstone + 1 : 0);
    put(record.replica);
  };
  for (const Replica& replica : replicas_) {
    put_record(replica.now);
    put_record(replica.synced);
    put_record(replica.dropped);
    put(replica.clock);
    put(replica.lost);
    put(replica.incarnation.incarnation.counter);
    put(replica.twin);
    replica.knows.EncodeTo(&out);
  }
  for (size_t a = 0; a < replicas_.size(); ++a) {
    for (size_t b = a + 1; b < replicas_.size(); ++b) {
      const std::optional<Link>& link = links_[a][b];
      put(link.has_value());
      if (!link) continue;
      link->said[0].EncodeTo(&out);
      link->said[1].EncodeTo(&out);
      put(link->readings[0]);
      put(link->readings[1]);
      for (const Terms& terms : link->terms) {
        put(terms.stable_time);
        put(terms.purged);
        put(terms.may_hold_deleted_pairs);
      }
    }
  }
  for (const int left :
       {shape_.deletes, shape_.ticks, shape_.crashes, shape_.copies,
        shape_.connects, shape_.broken, shape_.losses}) {
    put(static_cast<uint64_t>(left));
  }
  return out;
}

}  // namespace rocksync

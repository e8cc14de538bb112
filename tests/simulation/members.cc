// Who is a member, by the will of an operator; what members forget, and whether
// they may.

#include <algorithm>
#include <charconv>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/cluster_state.h"

namespace rocksync {
namespace {

// So many refusals in a row are no chance any more.
constexpr int kPatience = 4;

// Has acknowledged less than the witness has heard of it, or than a stable time
// that was reached while it was listed, as both are now.
bool IsBehind(const GcState& gc, uint64_t id, const GcState& witness) {
  const Member* const member = witness.Find(id);
  if (member == nullptr) return false;
  const bool took_part = member->since <= witness.reached.epoch;
  return gc.max_acknowledged <
         std::max(member->acknowledged, took_part ? witness.reached.time : 0);
}

}  // namespace

// --- The operator -----------------------------------------------------------

std::vector<uint64_t> Cluster::WantedMembers() const {
  std::set<uint64_t> wanted;
  for (const auto& replica : replicas_) {
    if (!replica->gone && now_ms_ >= replica->listed_from_ms &&
        (replica->removed_epoch == 0 || replica->readmitted)) {
      wanted.insert(replica->id);
    }
  }
  return {wanted.begin(), wanted.end()};
}

bool Cluster::IsMember(const Replica& replica) const {
  return std::binary_search(members_.begin(), members_.end(), replica.id);
}

void Cluster::Operate() {
  At(now_ms_ + random_.Between(200, 1500), [this] { Operate(); });
  const bool known =
      std::any_of(replicas_.begin(), replicas_.end(), [&](const auto& replica) {
        return !replica->gone && replica->removed_epoch == 0 &&
               replica->storage->gc().epoch == epoch_;
      });
  const bool content = known && WantedMembers() == members_;
  if (content) waits_until_ms_ = now_ms_ + 10'000;
  const bool waits = shape_.old_copy_every_ms > 0 && epoch_ > 0 && faulty() &&
                     now_ms_ < waits_until_ms_ && StableTimesAreAlike();
  if (!content && !waits) SetMembers();
}

// Else some member has not heard of what others have collected. A list that is
// set on it then is what an operator may do, and hardest to get right.
bool Cluster::StableTimesAreAlike() const {
  std::set<uint64_t> stable_times;
  for (const auto& replica : replicas_) {
    if (replica->up && IsMember(*replica) && replica->removed_epoch == 0) {
      stable_times.insert(replica->storage->stable_time());
    }
  }
  return stable_times.size() < 2;
}

// On a member that has the newest list, as an operator should. If no member is
// left but older states of their disks, then on whoever collected furthest: the
// others may hold what that one knows to be deleted.
bool Cluster::SetMembers() {
  const bool unlucky = shape_.old_copy_every_ms > 0;
  const auto rank = [unlucky](const Replica& replica) {
    const uint64_t epoch = replica.storage->gc().epoch;
    const bool doubtful = replica.shares_id && !replica.keeps_id;
    const bool sound = epoch > 0 && !doubtful;
    const uint64_t stable_time = replica.storage->stable_time();
    return std::tuple(sound, sound ? 0 : stable_time, epoch, !doubtful,
                      unlucky ? ~stable_time : 0);
  };
  std::vector<Replica*> best;
  for (const auto& replica : replicas_) {
    // A list has whom it is set on.
    if (replica->gone || replica->removed_epoch > 0 ||
        now_ms_ < replica->listed_from_ms) {
      continue;
    }
    if (!best.empty() && rank(*replica) > rank(*best[0])) best.clear();
    if (best.empty() || rank(*replica) == rank(*best[0])) {
      best.push_back(replica.get());
    }
  }
  if (best.empty()) return false;
  Replica* const chosen = best[unlucky ? random_.Below(best.size()) : 0];
  if (!chosen->up) return false;
  const uint64_t after = chosen->storage->gc().epoch;
  // By a list that does not know of its removal it would count as a member all
  // along.
  for (const auto& replica : replicas_) {
    if (replica->removed_epoch > after) replica->readmitted = false;
  }
  const std::vector<uint64_t> wanted = WantedMembers();
  const absl::Status status =
      chosen->membership->SetMembers(epoch_ + 1, wanted);
  Trace("an operator sets epoch ", epoch_ + 1, " on ", chosen->name(), ": ",
        absl::StrJoin(wanted, " "), " ", status.ToString());
  if (!status.ok()) {
    truth_.Broke(absl::StrCat("no list: ", status.ToString()));
    return false;
  }
  ++epoch_;
  list_before_[epoch_] = after;
  members_ = wanted;
  return true;
}

// The list that a replica has is none of those that led to the newest one: the
// newest but one was lost, and lived on somewhere all the same.
bool Cluster::IsOnAnotherBranch(const Replica& replica) const {
  const uint64_t has = replica.storage->gc().epoch;
  uint64_t epoch = epoch_;
  while (epoch > has) epoch = list_before_.at(epoch);
  return epoch != has;
}

void Cluster::AddSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.join_every_ms),
     [this] { AddSomebody(); });
  if (replicas_.size() >= kMaxReplicas) return;
  std::vector<size_t> peers = PeersOfNew();
  if (peers.empty()) return;
  ++result_.joined;
  Replica* const replica = AddReplica(std::move(peers));
  Trace(replica->name(), " is new");
  OpenEmpty(replica);
  StartReplica(replica);
}

std::vector<size_t> Cluster::PeersOfNew() {
  std::vector<size_t> peers;
  if (epoch_ == 0) return peers;
  for (int i = 0; i < 2; ++i) {
    const Replica& peer = Somebody();
    if (!peer.gone && peer.removed_epoch == 0) peers.push_back(peer.number);
  }
  return peers;
}

// A list that is set by whoever lacks the newest one does not follow it, and
// who came in by the newest is refused. So an operator waits until somebody who
// stays has taken it over.
bool Cluster::NewestListStays(const Replica& without) const {
  return std::any_of(
      replicas_.begin(), replicas_.end(), [&](const auto& replica) {
        return replica.get() != &without && !replica->gone &&
               replica->removed_epoch == 0 && !replica->shares_id &&
               replica->storage->gc().epoch == epoch_;
      });
}

void Cluster::RemoveSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.remove_every_ms),
     [this] { RemoveSomebody(); });
  Replica& replica = Somebody();
  if (!IsMember(replica) || replica.shares_id || replica.removed_epoch > 0 ||
      replica.gone || Storages(&replica).size() < 2 ||
      !NewestListStays(replica)) {
    return;
  }
  NoteSyncs(&replica);
  replica.removed_epoch = epoch_ + 1;
  if (!SetMembers()) {
    replica.removed_epoch = 0;
    return;
  }
  replica.last_removed_epoch = replica.removed_epoch;
  ++result_.removed;
  Trace(replica.name(), " is removed");
  truth_.Lost(replica.storage->synced_records(), Storages());
  KeepConnected(replica);
  At(now_ms_ + random_.Between(5000, 20'000),
     [this, &replica, id = replica.id] {
       if (replica.id == id) DecideAboutRemoved(&replica);
     });
}

// It goes for good, or begins anew; or somebody thinks that it could be listed
// again as it is.
void Cluster::DecideAboutRemoved(Replica* replica) {
  if (replica->gone || !faulty()) return;
  switch (random_.Below(3)) {
    case 0:
      return Retire(replica);
    case 1:
      Trace(replica->name(), " is to be listed again");
      if (replica->storage->gc().epoch > 0) {
        replica->readmitted = true;
        return;
      }
      // It never knew of a list, so it is a new member with old data.
      replica->removed_epoch = 0;
      return Reconnect(replica);
    default:
      return BeginAnew(replica);
  }
}

// Once faults are over an operator looks further: whoever else has data and no
// list yet, or may hold deleted pairs, would hand them on to the one that
// begins anew, time and again.
void Cluster::BeginAnew(Replica* replica) {
  Empty(replica);
  if (faulty()) return;
  for (const auto& other : replicas_) {
    if (other->gone || other->removed_epoch > 0 || epoch_ == 0 ||
        (other->storage->gc().epoch > 0 &&
         !other->storage->gc().may_hold_deleted_pairs) ||
        other->storage->records().empty()) {
      continue;
    }
    Empty(other.get());
  }
  Settle();
}

void Cluster::Empty(Replica* replica) {
  Trace(replica->name(), " begins anew, empty");
  if (replica->removed_epoch == 0) {
    NoteSyncs(replica);
    truth_.Lost(replica->storage->synced_records(), Storages(replica));
  }
  if (replica->up) Stop(replica);
  if (replica->removed_epoch > 0) Reconnect(replica);
  OpenEmpty(replica);
  truth_.Unlearn(Storages());
  ++result_.joined;
  Restart(replica, 1000);
}

void Cluster::Retire(Replica* replica) {
  Trace(replica->name(), " is gone");
  if (replica->up) Stop(replica);
  replica->gone = true;
  KeepConnected(*replica);
}

// Whoever was connected by way of it is connected by way of the first that is
// left.
void Cluster::KeepConnected(const Replica& without) {
  const auto left = [&](const Replica& replica) {
    return &replica != &without && !replica.gone && replica.removed_epoch == 0;
  };
  Replica* first = nullptr;
  const Replica* second = nullptr;
  for (const auto& replica : replicas_) {
    if (!left(*replica)) continue;
    if (first == nullptr) {
      first = replica.get();
    } else if (second == nullptr) {
      second = replica.get();
    }
  }
  if (second == nullptr) return;
  for (const auto& replica : replicas_) {
    if (!left(*replica)) continue;
    std::vector<size_t>& peers = replica->peers;
    const std::vector<size_t>& its = without.peers;
    const bool reached =
        std::find(its.begin(), its.end(), replica->number) != its.end();
    const size_t hub = replica.get() == first ? second->number : first->number;
    bool changed = false;
    for (size_t& peer : peers) {
      if (peer != without.number) continue;
      peer = hub;
      changed = true;
    }
    if (!changed && reached && replica.get() != first) {
      peers.push_back(hub);
      changed = true;
    }
    if (!changed) continue;
    replica->equal_ms.resize(peers.size());
    if (replica->up) StartSchedule(replica.get());
  }
}

// While it was out, others have gone too.
void Cluster::Reconnect(Replica* replica) {
  for (const auto& other : replicas_) {
    if (other.get() == replica || other->gone || other->removed_epoch > 0) {
      continue;
    }
    replica->peers.assign(1, other->number);
    replica->equal_ms.assign(1, 0);
    if (replica->up) StartSchedule(replica);
    return;
  }
}

void Cluster::LeaveSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.absent_every_ms),
     [this] { LeaveSomebody(); });
  Replica& replica = Somebody();
  if (!replica.up) return;
  Trace(replica.name(), " is away for long");
  Stop(&replica);
  Restart(&replica, random_.Between(10'000, 60'000));
}

// --- Refusals ---------------------------------------------------------------

void Cluster::ActOnRefusal(Link* link, Replica* heard, RefusalReason reason,
                           std::string_view why) {
  if (reason == RefusalReason::kRolledBack ||
      reason == RefusalReason::kSameReplica) {
    At(now_ms_, [this, heard] { OpenAsNew(heard); });
    return;
  }
  if (reason != RefusalReason::kNotMember && reason != RefusalReason::kEpoch &&
      reason != RefusalReason::kOutOfReach &&
      reason != RefusalReason::kAcknowledgedMore) {
    return truth_.Broke(
        absl::StrCat("link ", link->number, ": ",
                     absl::string_view(why.data(), why.size())));
  }
  // The text names whom it is about.
  constexpr std::string_view kName = "replica ";
  Replica* about = heard;
  if (const size_t at = why.find(kName); at != std::string_view::npos) {
    uint64_t id = 0;
    const char* const begin = why.data() + at + kName.size();
    std::from_chars(begin, why.data() + why.size(), id, 16);
    for (const Side& side : link->sides) {
      if (side.replica->id == id) about = side.replica;
    }
  }
  // Who was listed since is no member by the list that the two have.
  if (reason == RefusalReason::kNotMember &&
      std::max(link->sides[0].mine.gc.epoch, link->sides[1].mine.gc.epoch) <
          epoch_) {
    return;
  }
  // Who has learned of another list since, or was proven equal, would say
  // something else now.
  for (const Side& side : link->sides) {
    const GcState& said = side.mine.gc;
    const GcState& knows = side.replica->storage->gc();
    if (said.epoch != knows.epoch ||
        said.may_hold_deleted_pairs != knows.may_hold_deleted_pairs) {
      return;
    }
  }
  // What it said in its set-up was overtaken by what it said later on other
  // links, and others passed on.
  const Replica& witness =
      *link->sides[about == link->sides[0].replica ? 1 : 0].replica;
  if (reason == RefusalReason::kAcknowledgedMore &&
      !IsBehind(about->storage->gc(), about->id, witness.storage->gc())) {
    return;
  }
  // Some of what was said may have been overtaken on another link.
  if (++about->out_of_reach < kPatience) return;
  // Who learns of a list from a replica that was rolled back may have one from
  // before it was removed itself.
  const bool was_removed =
      about->storage->gc().epoch < about->last_removed_epoch;
  if (!IsFenced(*about) && !IsOnAnotherBranch(*about) && !was_removed) {
    return truth_.Broke(
        absl::StrCat(about->name(), " is refused, but why? ",
                     absl::string_view(why.data(), why.size())));
  }
  // Who is not listed yet will be.
  if (reason == RefusalReason::kNotMember || !about->up ||
      !(IsMember(*about) || about->readmitted)) {
    return;
  }
  At(now_ms_, [this, about, id = about->id] {
    if (about->id == id && !about->gone) BeginAnew(about);
  });
}

// --- Tombstone garbage collection --------------------------------------------

// Nobody lets it in, or nobody should, or it has not come in yet.
bool Cluster::IsFenced(const Replica& replica) const {
  const GcState& knows = replica.storage->gc();
  return replica.gone || replica.removed_epoch > 0 || replica.shares_id ||
         !IsMember(replica) || knows.epoch == 0 || knows.may_hold_deleted_pairs;
}

void Cluster::StableTimeMoves(Replica* replica, const GcState& next) {
  const GcState& now = replica->storage->gc();
  if (next.epoch != now.epoch) {
    Trace(replica->name(), " is in epoch ", next.epoch);
  }
  if (next.stable_time == now.stable_time) return;
  replica->collected_up_to =
      std::max(replica->collected_up_to, next.stable_time);
  Trace(replica->name(), " collects up to ", next.stable_time >> 16, ".",
        next.stable_time & 0xffff, " of epoch ", next.stable_epoch);
  for (const auto& [key, record] : replica->storage->records()) {
    if (!IsCollected(record.tombstone, record.version, next.stable_time) ||
        IsCollected(record.tombstone, record.version, now.stable_time)) {
      continue;
    }
    ++result_.collected;
    truth_.Collected(key, record.version, IsFenced(*replica));
    if (!IsFenced(*replica)) CheckGc(*replica, next, key, record);
  }
  SweepSoon(replica);
}

void Cluster::SweepSoon(Replica* replica) {
  At(now_ms_ + random_.Between(1, 3000), [replica] {
    if (replica->up) replica->storage->Sweep();
  });
}

// Everybody who may hand pairs on has the tombstone, durably, or something
// newer; or has collected it too.
void Cluster::CheckGc(const Replica& replica, const GcState& next,
                      const RecordKey& key, const Record& tombstone) {
  for (const auto& other : replicas_) {
    const Member* const member = next.Find(other->id);
    const MemoryStorage& storage = *other->storage;
    if (member == nullptr || IsFenced(*other) ||
        truth_.IsDamaged(other->id, key) ||
        IsCollected(true, tombstone.version, other->collected_up_to)) {
      continue;
    }
    const auto it = storage.synced_records().find(key);
    const bool there = it != storage.synced_records().end();
    if (there && it->second.version >= tombstone.version) continue;
    // A new member has nothing that it should have known to be deleted.
    const bool new_member = member->since > next.stable_epoch;
    if (new_member && (!there || it->second.tombstone)) continue;
    truth_.Broke(absl::StrCat(replica.name(), " collects the deletion of ",
                              key.first, "/", key.second, ", but ",
                              other->name(), " does not durably have it"));
  }
}

bool Cluster::Collected() const {
  if (epoch_ == 0) return true;
  const Truth::Storages storages = Storages();
  return std::all_of(
      storages.begin(), storages.end(), [](const MemoryStorage* storage) {
        const Records& records = storage->records();
        const auto tombstones =
            std::count_if(records.begin(), records.end(),
                          [](const auto& one) { return one.second.tombstone; });
        return !WorthCollecting(static_cast<uint64_t>(tombstones),
                                records.size());
      });
}

}  // namespace rocksync

// How replicas meet, what happens meanwhile, and how all of them heal at the
// end.

#include <algorithm>
#include <utility>

#include "replication/session/messages.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/scrub.h"
#include "tests/simulation/store/store_cluster_state.h"

namespace rocksync::store_simulation {
namespace {

using rocksdb::Status;

// Within so many rounds, in each of which everybody meets everybody, all are
// equal; and within so many more all have collected what was deleted.
constexpr int kRoundsToEqual = 10;
constexpr int kRoundsToCollect = 6;

}  // namespace

void StoreCluster::MeetNow(Node* dialer, Node* listener) {
  ++result_.meetings;
  Talk talk{{dialer, listener}, {}, false};
  for (Talk* outer : talks_) {
    if (outer->Has(dialer) || outer->Has(listener)) outer->all_touched = true;
  }
  talks_.push_back(&talk);
  ++dialer->meetings;
  ++listener->meetings;
  Trace(dialer->name(), " meets ", listener->name());
  MeetingPlan plan;
  plan.sessions = static_cast<int>(random_.Between(1, 2));
  plan.on_frame = [this, &talk](bool from_dialer, std::string_view frame) {
    return OnFrame(&talk, from_dialer, frame);
  };
  plan.before_session = [&talk] {
    talk.touched.clear();
    talk.all_touched = false;
  };
  plan.proven = [this, &talk] { NoteProof(&talk); };
  const bool held = work_.Hold(true);
  const MeetingEnd end =
      Meet(dialer->machine->replica(), listener->machine->replica(), plan);
  work_.Hold(held);
  talks_.pop_back();
  --dialer->meetings;
  --listener->meetings;
  Trace(dialer->name(), " met ", listener->name(), ": ", end.status.ToString());
  if (!talks_.empty()) return;
  for (Node* node : {dialer, listener}) {
    if (node->machine->disk()->killed()) Reap(node);
  }
  const std::string why =
      end.status.ToString() + end.listener_status.ToString();
  Refused(dialer, why);
  Refused(listener, why);
}

Fate StoreCluster::OnFrame(Talk* talk, bool from_dialer,
                           std::string_view frame) {
  const auto dead = [talk] {
    return !talk->sides[0]->up() || !talk->sides[1]->up();
  };
  if (dead()) return Fate::kCuts;
  const auto type =
      static_cast<MessageType>(static_cast<uint8_t>(frame[0]) & kTypeMask);
  const std::string_view name = MessageName(type);
  Trace("  ", talk->sides[from_dialer ? 0 : 1]->name(), " says ",
        absl::string_view(name.data(), name.size()), " [", frame.size(), "]");
  Pass(random_.Between(1, 20));
  for (Node* side : talk->sides) side->machine->Settle();
  if (Happens(shape_.disturb_one_in)) Disturb(talk);
  if (dead() || Happens(shape_.cut_one_in)) return Fate::kCuts;
  return Happens(shape_.lose_one_in) ? Fate::kIsLost : Fate::kArrives;
}

// Something happens between two frames.
void StoreCluster::Disturb(Talk* talk) {
  Node* const node = talk->sides[random_.Below(2)];
  switch (random_.Below(8)) {
    case 0:
      if (shape_.crash_one_in > 0) Crash(node);
      return;
    case 1:
      return Flush(node);
    case 2: {
      Node* const third = SomebodyElse(node);
      if (third == nullptr || talks_.size() > 1 || talk->Has(third)) return;
      return MeetNow(node, third);
    }
    case 3:
      if (epoch_ == 0) return;
      Trace(node->name(),
            " collects: ", node->machine->db()->CollectTombstones().ToString());
      return;
    default:
      return WriteSomething(node);
  }
}

void StoreCluster::NoteProof(Talk* talk) {
  ++result_.proofs;
  Node* const one = talk->sides[0];
  Node* const other = talk->sides[1];
  Trace(one->name(), " and ", other->name(), " are proven equal");
  if (!one->up() || !other->up() || talk->all_touched) return;
  Holdings holdings[2];
  std::vector<std::string> wrong;
  if (!one->machine->Read(&holdings[0], &wrong).ok() ||
      !other->machine->Read(&holdings[1], &wrong).ok()) {
    return;
  }
  std::set<Key> except = talk->touched;
  for (const Node* node : talk->sides) {
    except.insert(node->durable.damaged.begin(), node->durable.damaged.end());
  }
  for (int i = 0; i < 2; ++i) {
    const Node* const node = talk->sides[i];
    oracle_.Holds(node->name(), holdings[i], node->durable.damaged);
  }
  oracle_.Proved(absl::StrCat(one->name(), " and ", other->name()), holdings[0],
                 one->machine->gc().stable_time, holdings[1],
                 other->machine->gc().stable_time, except);
  for (int i = 0; i < 2; ++i) {
    Versions proven;
    for (const auto& [key, held] : holdings[i]) {
      if (held.has_entry && !held.quarantined && except.count(key) == 0) {
        proven[key] = held.version;
      }
    }
    Raise(proven, &talk->sides[i]->durable.floor);
    if (talk->sides[i]->durable.epoch > 0) talk->sides[i]->fresh = false;
    if (!talk->sides[i]->shares_id) talk->sides[i]->old = false;
  }
}

void StoreCluster::MeetAll() {
  for (const auto& one : nodes_) {
    for (const auto& other : nodes_) {
      if (one->number() >= other->number()) continue;
      Pass(random_.Between(100, 2000));
      if (one->up() && other->up()) MeetNow(one.get(), other.get());
      Tidy();
    }
  }
}

bool StoreCluster::AllEqual() {
  std::vector<Holdings> all;
  std::vector<uint64_t> stable_times;
  for (Node* node : Present()) {
    if (!node->up()) return false;
    Holdings holdings;
    std::vector<std::string> wrong;
    if (!node->machine->Read(&holdings, &wrong).ok()) return false;
    for (const auto& [key, held] : holdings) {
      if (held.quarantined) return false;
    }
    if (node->machine->gc().epoch != epoch_) return false;
    if (!wrong.empty()) return false;
    all.push_back(std::move(holdings));
    stable_times.push_back(node->machine->gc().stable_time);
  }
  return Oracle::Equal(all, stable_times);
}

// Every peer has been proven equal since: nobody knows better.
void StoreCluster::ResolveQuarantined() {
  for (Node* node : Present()) {
    if (!node->up() || node->durable.damaged.empty()) continue;
    uint64_t resolved = 0;
    const Status status = StoreAccess::NewScrub(node->machine->db())
                              ->ResolveQuarantined({}, &resolved);
    Trace(node->name(), " resolves ", resolved, ": ", status.ToString());
  }
}

void StoreCluster::Heal() {
  Trace("faults are over");
  for (Node* node : Present()) {
    node->machine->disk()->KillAfter(UINT64_MAX);
    node->skew_ms = 0;
    node->readable_ms = std::min(node->readable_ms, now_ms_);
  }
  Pass(1);
  Tidy();
  int round = 0;
  for (; round < kRoundsToEqual && !AllEqual(); ++round) {
    if (!oracle_.violations().empty()) return;
    if (any_corruption_) {
      for (Node* node : Present()) {
        if (node->up()) Scrub(node);
      }
    }
    MeetAll();
    if (round % 3 == 2) ResolveQuarantined();
  }
  Trace("healed after ", round, " rounds");
  std::vector<Machine*> machines;
  std::vector<const Durable*> disks;
  for (Node* node : Present()) {
    if (!node->up()) return oracle_.Broke(node->name() + " stays down");
    machines.push_back(node->machine.get());
    disks.push_back(&node->durable);
    const uint64_t epoch = node->machine->gc().epoch;
    if (epoch != epoch_) {
      oracle_.Broke(absl::StrCat(node->name(), " stays at epoch ", epoch,
                                 ", the newest is ", epoch_));
    }
  }
  oracle_.ExpectEqual(machines, disks);
  if (oracle_.violations().empty() && epoch_ > 0) ForgetAll();
  if (oracle_.violations().empty()) oracle_.ExpectEqual(machines, disks);
}

void StoreCluster::ForgetAll() {
  for (int round = 0; round < kRoundsToCollect; ++round) {
    MeetAll();
    bool left = false;
    for (Node* node : Present()) {
      if (!node->up()) return oracle_.Broke(node->name() + " is down");
      const Status status = node->machine->db()->CollectTombstones();
      node->machine->Settle();
      Watch(node);
      Holdings holdings;
      std::vector<std::string> wrong;
      if (!status.ok() || !node->machine->Read(&holdings, &wrong).ok()) {
        return oracle_.Broke(node->name() + " cannot forget");
      }
      for (const auto& [key, held] : holdings) left = left || held.tombstone;
    }
    if (!left) {
      Trace("collected after ", round + 1, " rounds");
      return;
    }
  }
  for (Node* node : Present()) {
    const TombstoneGcStats stats = node->machine->db()->GetTombstoneGcStats();
    oracle_.Broke(absl::StrCat(node->name(), " holds ", stats.tombstones,
                               " tombstones, held up by ",
                               absl::Hex(stats.held_up_by)));
  }
}

}  // namespace rocksync::store_simulation

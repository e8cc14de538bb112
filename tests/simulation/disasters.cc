// Disks that are replaced by an old backup, copies that run beside the
// original, and the operator who opens as a new replica what peers refuse.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/simulation/cluster_state.h"

namespace rocksync {

Cluster::Disk Cluster::CopyOf(const Replica& replica) {
  return {.storage = replica.storage->Copy(StorageOptions(nullptr, 0)),
          .incarnation = replica.incarnation,
          .past = replica.past,
          .remembered = replica.remembered,
          .met = replica.met,
          .line = replica.line};
}

void Cluster::Mount(Disk disk, Replica* replica) {
  replica->storage =
      disk.storage->Copy(StorageOptions(replica, replica->number));
  replica->syncs_seen = 0;
  replica->quarantined_seen = 0;
  replica->incarnation = disk.incarnation;
  replica->past = std::move(disk.past);
  replica->remembered = std::move(disk.remembered);
  replica->met = std::move(disk.met);
  lines_.push_back({.parent = disk.line, .clock = replica->storage->clock()});
  replica->line = lines_.size() - 1;
}

void Cluster::BackUpSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, std::max(shape_.rollback_every_ms,
                                           shape_.old_copy_every_ms)),
     [this] { BackUpSomebody(); });
  Replica& replica = Somebody();
  if (replica.gone) return;
  Trace(replica.name(), " is backed up");
  replica.backup = CopyOf(replica);
}

void Cluster::RollBackSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.rollback_every_ms),
     [this] { RollBackSomebody(); });
  Replica& replica = Somebody();
  if (!replica.up || !replica.backup || replica.removed_epoch > 0) return;
  ++result_.rollbacks;
  Trace(replica.name(), " loses its disk and gets its backup");
  NoteSyncs(&replica);
  const Records lost = replica.storage->synced_records();
  Stop(&replica);
  Disk disk = std::move(*replica.backup);
  replica.backup.reset();
  Mount(std::move(disk), &replica);
  replica.shares_id = true;
  replica.keeps_id = false;
  truth_.Lost(lost, Storages());
  truth_.Unlearn(Storages());
  Restart(&replica, random_.Between(10, 10'000));
}

void Cluster::CopySomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.copy_every_ms),
     [this] { CopySomebody(); });
  Replica& original = Somebody();
  if (!original.up || original.shares_id || original.removed_epoch > 0 ||
      result_.clones == kMaxClones || replicas_.size() >= kMaxReplicas) {
    return;
  }
  ++result_.clones;
  std::vector<size_t> peers = original.peers;
  if (peers.empty()) peers.push_back(original.number);
  Replica* const twin = AddReplica(std::move(peers));
  twin->id = original.id;
  twin->shares_id = original.shares_id = true;
  Trace(twin->name(), " is a running copy of ", original.name());
  Mount(CopyOf(original), twin);
  StartReplica(twin);
}

// What an operator does whose replica is refused for being a second
// incarnation.
void Cluster::OpenAsNew(Replica* replica) {
  if (!replica->up) return;
  Trace(replica->name(), " is opened as a new replica");
  replica->storage->Sync().IgnoreError();  // as a clean close does
  NoteSyncs(replica);
  Stop(replica);
  for (const auto& other : replicas_) {
    if (other.get() != replica && other->id == replica->id) {
      other->keeps_id = true;
    }
  }
  replica->id = next_id_++;
  replica->shares_id = replica->keeps_id = false;
  MountAsNew(CopyOf(*replica), replica);
  replica->backup.reset();
  replica->out_of_reach = 0;
  Restart(replica, 1000);
}

void Cluster::MountAsNew(Disk disk, Replica* replica) {
  disk.incarnation = {};
  disk.past = {.since = 0};
  disk.line = 0;
  disk.storage->SetGcState(disk.storage->gc().AsNewReplica(),
                           /*sync=*/true);
  Mount(std::move(disk), replica);
}

// An old checkpoint is opened as a new replica. It takes writes until somebody
// lists it, and what others have deleted since is still there. An empty replica
// comes with it, which knows nothing yet of what may be deleted.
void Cluster::AddOldCopy() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.old_copy_every_ms),
     [this] { AddOldCopy(); });
  Replica& original = Somebody();
  if (!original.backup || replicas_.size() + 2 > kMaxReplicas) return;
  std::vector<size_t> peers = PeersOfNew();
  std::vector<size_t> peers_of_copy = PeersOfNew();
  if (peers.empty() || peers_of_copy.empty()) return;
  result_.joined += 2;
  Disk disk = std::move(*original.backup);
  original.backup.reset();
  Replica* const empty = AddReplica(std::move(peers));
  if (random_.OneIn(2)) peers_of_copy.push_back(empty->number);
  Replica* const copy = AddReplica(std::move(peers_of_copy));
  Trace(copy->name(), " is a new replica, of an old copy of ", original.name(),
        ", ", empty->name(), " is one without anything");
  OpenEmpty(empty);
  OpenEmpty(copy);
  MountAsNew(std::move(disk), copy);
  copy->listed_from_ms = now_ms_ + random_.Between(1, 10'000);
  empty->listed_from_ms = copy->listed_from_ms;
  for (Replica* replica : {empty, copy}) StartReplica(replica);
}

// An operator reads in a replica's status that two incarnations of a member are
// known, and opens as new the one that was started last, unless only one is
// left.
void Cluster::PartClones(const Replica& replica) {
  const uint64_t id = replica.membership->identity_conflict();
  if (id == 0 || !to_part_.insert(id).second) return;
  Trace(replica.name(), " knows two incarnations of replica ", id);
  At(now_ms_ + random_.Between(1000, 5000), [this, id] {
    to_part_.erase(id);
    Replica* last = nullptr;
    for (const auto& other : replicas_) {
      if (other->id == id && other->up && other->removed_epoch == 0) {
        last = other.get();
      }
    }
    if (last != nullptr && last->shares_id && !last->keeps_id) OpenAsNew(last);
  });
}

// A new replica without anything, also in the place of one that is no good.
void Cluster::OpenEmpty(Replica* replica) {
  replica->id = next_id_++;
  replica->storage = std::make_unique<MemoryStorage>(
      &hasher_, StorageOptions(replica, replica->number));
  replica->syncs_seen = 0;
  replica->incarnation = {};
  replica->past = {.since = 0};
  replica->remembered.clear();
  replica->met.clear();
  replica->backup.reset();
  replica->shares_id = replica->keeps_id = false;
  replica->removed_epoch = 0;
  replica->readmitted = false;
  replica->listed_from_ms = 0;
  replica->last_removed_epoch = 0;
  replica->collected_up_to = 0;
  replica->out_of_reach = 0;
  replica->quarantined_seen = replica->last_quarantined_ms = 0;
  lines_.push_back({});
  replica->line = lines_.size() - 1;
}

// `replica` lets `peer` in: right, unless it has met a part of the peer's past
// that the peer no longer has.
void Cluster::CheckSuccession(Replica* replica, const Replica& peer) {
  Encounter& met = replica->met[peer.id];
  bool follows = met.line == 0;
  for (size_t line = peer.line; line != 0 && !follows;
       line = lines_[line].parent) {
    follows = line == met.line || (lines_[line].parent == met.line &&
                                   lines_[line].clock >= met.clock);
  }
  if (!follows) {
    truth_.Broke(absl::StrCat(replica->name(), " lets ", peer.name(),
                              " in, which was rolled back or copied; line ",
                              peer.line, " at ", peer.storage->clock() >> 16,
                              " after ", met.line, " at ", met.clock >> 16));
  }
  met = {.line = peer.line, .clock = peer.storage->clock()};
}

}  // namespace rocksync

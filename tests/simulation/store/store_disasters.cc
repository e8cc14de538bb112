// What happens to disks and processes, and who is a member.

#include <algorithm>
#include <utility>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksync/replica_id.h"
#include "tests/simulation/store/store_cluster_state.h"

namespace rocksync::store_simulation {
namespace {

using rocksdb::Status;

constexpr size_t kMaxNodes = 7;
// Larger than a lease's record, as the log holds it, and smaller than that and
// another one.
constexpr size_t kLeaseTail = 64;
constexpr size_t kGcStateTail = 600;

thread_local bool opening = false;

bool EndsInRecord(std::string_view unsynced, std::string_view record,
                  size_t tail) {
  const size_t at = unsynced.rfind(MetaKey(record));
  return at != std::string_view::npos && unsynced.size() - at < tail;
}

bool Lies(StoreFault fault, const std::string& file,
          std::string_view unsynced) {
  if (file.size() < 4 || file.substr(file.size() - 4) != ".log") return false;
  const bool lease = EndsInRecord(unsynced, kLeaseRecord, kLeaseTail);
  const bool members = EndsInRecord(unsynced, kGcStateRecord, kGcStateTail);
  switch (fault) {
    case StoreFault::kLeaseNotSynced:
      return lease;
    case StoreFault::kMembersNotSynced:
      return members && !opening;
    case StoreFault::kOpeningNotSynced:
      return opening;
    case StoreFault::kSessionNotSynced:
      return InSession() && !lease && !members;
    case StoreFault::kWriteNotSynced:
      return !InSession() && !opening && !lease && !members;
    default:
      return false;
  }
}

}  // namespace

void StoreCluster::PlantLies(Node* node) {
  if (options_.fault == StoreFault::kNone) return;
  node->machine->disk()->LieAboutSyncs(
      [fault = options_.fault](const std::string& file,
                               std::string_view unsynced) {
        return Lies(fault, file, unsynced);
      });
}

void StoreCluster::Open(Node* node) {
  if (node->gone || node->machine->up()) return;
  ++result_.openings;
  // In the middle of it.
  const uint64_t dies_after =
      Happens(shape_.crash_one_in) ? random_.Below(60) : UINT64_MAX;
  opening = true;
  const Status status = node->machine->Open(node->as_new, dies_after);
  opening = false;
  Trace(node->name(), " is opened: ", status.ToString());
  if (!status.ok()) {
    if (node->machine->disk()->killed()) {
      Reap(node);
    } else if (node->old && status.IsAborted()) {
      node->as_new = true;  // as it says
    } else if (!node->machine->reads_fail()) {
      oracle_.Broke(node->name() + " cannot be opened: " + status.ToString());
    }
    return;
  }
  node->sick = false;
  if (node->machine->disk()->killed()) return;
  const uint64_t id = node->machine->id();
  if (node->as_new && id != node->durable.replica_id) {
    node->as_new = false;
    node->shares_id = false;
    node->durable.replica_id = id;
    node->durable.incarnation = 0;
    node->durable.epoch = 0;
    node->durable.acknowledged = 0;
    list_is_old_ = shape_.members;
    Trace(node->name(), " is another replica now");
  }
  oracle_.Opened(node->machine.get(), &node->durable);
  Watch(node);
  // Before anything else is synced.
  if (Happens(shape_.crash_one_in)) Crash(node);
}

void StoreCluster::CloseCleanly(Node* node) {
  if (node->meetings > 0) return;
  if (Happens(shape_.crash_one_in)) {
    node->machine->disk()->KillAfter(random_.Below(40));
  }
  const bool readable = shape_.unreadable_one_in == 0;
  const Status status = node->machine->Close();
  Trace(node->name(), " is closed: ", status.ToString());
  if (node->machine->disk()->killed()) return Reap(node);
  if (status.ok()) {
    Raise(node->durable.pending, &node->durable.floor);
  } else if (readable) {
    oracle_.Broke(node->name() + " cannot be closed: " + status.ToString());
  }
}

// Now, or in the middle of what it does next.
void StoreCluster::Crash(Node* node) {
  if (random_.OneIn(2)) {
    const uint64_t calls = random_.Below(40);
    Trace(node->name(), " dies after ", calls, " calls");
    return node->machine->disk()->KillAfter(calls);
  }
  Trace(node->name(), " dies");
  node->machine->disk()->Kill();
}

// Once nobody is in a call of its.
void StoreCluster::Reap(Node* node) {
  if (node->meetings > 0) return;
  if (node->machine->up()) node->machine->Bury();
  ++result_.kills;
  if (random_.OneIn(3)) {
    Trace(node->name(), " was killed");
    return;
  }
  // Chance of its own: RocksDB's threads may have got to delete a file or not,
  // and what follows does not depend on how much there was to ask about.
  Random losses(random_.Next());
  const uint64_t bytes = node->machine->disk()->LosePower(
      [&losses](uint64_t n) { return losses.Below(n); });
  ++result_.power_lost;
  result_.collected_bytes += bytes;
  node->durable.pending.clear();
  Trace(node->name(), " lost power and ", bytes, " bytes");
}

void StoreCluster::Flush(Node* node) {
  const WorkHold runs(&work_, false);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const char* family : kFamilies) {
    handles.push_back(node->machine->Handle(family));
  }
  Status status = node->machine->db()->Flush(rocksdb::FlushOptions(), handles);
  const bool flushed = status.ok();
  const bool compacts = random_.OneIn(2);
  if (status.ok() && compacts) {
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      if (!status.ok()) break;
      status = node->machine->db()->CompactRange(rocksdb::CompactRangeOptions(),
                                                 handle, nullptr, nullptr);
    }
  }
  Trace(node->name(),
        compacts ? " compacts: " : " flushes: ", status.ToString());
  if (node->machine->disk()->killed()) return;
  if (flushed) Raise(node->durable.pending, &node->durable.floor);
  if (!status.ok()) node->sick = true;
}

void StoreCluster::JumpClock(Node* node) {
  constexpr int64_t kFurthest = 15'000;
  node->skew_ms =
      static_cast<int64_t>(random_.Below(2 * kFurthest)) - kFurthest;
  Trace(node->name(), "'s clock is ", node->skew_ms, " ms ahead");
  Pass(0);
}

void StoreCluster::MakeUnreadable(Node* node) {
  ++result_.unreadable;
  node->readable_ms = now_ms_ + random_.Between(100, 3000);
  Trace(node->name(), " cannot be read");
  node->machine->SetReadsFail(true);
}

// The bits of a value flip on the disk, unseen by RocksDB.
void StoreCluster::Corrupt(Node* node) {
  Holdings holdings;
  std::vector<std::string> wrong;
  if (!node->machine->Read(&holdings, &wrong).ok()) return;
  for (const auto& holding : holdings) {
    const Key& key = holding.first;
    const auto& held = holding.second;
    if (!held.value || !held.has_entry || !random_.OneIn(3)) continue;
    if (!node->machine->disk()->FlipBit(held.value->substr(0, 12), ".sst")) {
      continue;
    }
    ++result_.corruption;
    any_corruption_ = true;
    node->durable.damaged.insert(key);
    if (node->backup) node->backup->durable.damaged.insert(key);
    const std::vector<Node*> present = Present();
    const bool elsewhere =
        std::any_of(present.begin(), present.end(), [&](const Node* other) {
          const auto floor = other->durable.floor.find(key);
          return other != node && floor != other->durable.floor.end() &&
                 !(floor->second < held.version) &&
                 other->durable.damaged.count(key) == 0;
        });
    if (!elsewhere) oracle_.Excuse(key);
    Trace(node->name(), " damages ", Name(key), elsewhere ? "" : ", the last");
    return;
  }
}

void StoreCluster::Scrub(Node* node) {
  const std::unique_ptr<rocksync::Scrub> scrub =
      StoreAccess::NewScrub(node->machine->db());
  Status status = scrub->Load();
  bool finished = false;
  while (status.ok() && !finished) {
    uint64_t bytes = 0;
    status = scrub->Step(&bytes, &finished);
  }
  Trace(node->name(), " is scrubbed: ", status.ToString(), ", ",
        scrub->progress().corruption_found, " found");
}

void StoreCluster::BackUp(Node* node) {
  if (node->meetings > 0) return;
  Trace(node->name(), " is backed up");
  Durable durable = node->durable;
  Raise(durable.pending, &durable.floor);
  const std::string& name = node->machine->directory();
  node->backup = {node->machine->disk()->Copy(name, name), std::move(durable)};
}

// The disk is lost, and an old state of it put in its place.
void StoreCluster::RollBack(Node* node) {
  if (node->meetings > 0 || !node->backup) return;
  ++result_.rollbacks;
  Trace(node->name(), " gets its backup");
  node->machine->disk()->Kill();
  node->machine->Bury();
  const std::string directory = node->machine->directory();
  node->machine = std::make_unique<Machine>(node->machine->number(), directory,
                                            std::move(node->backup->disk),
                                            &work_, &machine_shape_);
  node->durable = std::move(node->backup->durable);
  node->backup.reset();
  node->readable_ms = 0;
  node->old = true;
  node->shares_id = true;
  PlantLies(node);
  Pass(0);
}

// A copy of a running replica is opened elsewhere, as a new one.
void StoreCluster::Copy(Node* node) {
  if (node->meetings > 0 || nodes_.size() >= kMaxNodes) return;
  ++result_.copies;
  const std::string directory = absl::StrCat("/r", nodes_.size());
  Durable durable = node->durable;
  Raise(durable.pending, &durable.floor);
  Node* const copy = AddNode(
      node->machine->disk()->Copy(node->machine->directory(), directory),
      directory);
  copy->durable = std::move(durable);
  copy->as_new = true;
  copy->old = true;
  Trace(copy->name(), " is a copy of ", node->name());
  Open(copy);
}

// Nothing of its data is any good.
void StoreCluster::Empty(Node* node) {
  Trace(node->name(), " begins anew");
  if (node->machine->up()) {
    node->machine->disk()->Kill();
    node->machine->Bury();
  }
  const std::string directory = node->machine->directory();
  node->machine =
      std::make_unique<Machine>(node->machine->number(), directory,
                                ForgetfulDisk(), &work_, &machine_shape_);
  node->durable = {};
  node->backup.reset();
  node->readable_ms = 0;
  node->old = node->as_new = node->shares_id = node->sick = false;
  node->fresh = shape_.members;
  list_is_old_ = shape_.members;
  PlantLies(node);
  Pass(0);
}

// Peers do not let a replica in whose data are an older state of a member's.
// Its operator reads which one it is and what to do.
void StoreCluster::Refused(Node* node, const std::string& why) {
  if (node->meetings > 0 || !node->up() ||
      why.find(ReplicaIdHex(node->machine->id())) == std::string::npos) {
    return;
  }
  if (why.find("that other members have deleted") != std::string::npos)
    return Empty(node);
  if (!node->old) return;
  if (why.find("open_copy_as_new_replica") == std::string::npos &&
      why.find("open it as a new replica") == std::string::npos) {
    return;
  }
  CloseCleanly(node);
  if (node->machine->up()) return;
  if (node->as_new) Move(node);  // if it did not help
  node->as_new = true;
  Trace(node->name(), " is to be opened as a new replica in ",
        node->machine->directory());
}

// To another directory.
void StoreCluster::Move(Node* node) {
  const std::string from = node->machine->directory();
  const std::string to = from + "m";
  node->machine = std::make_unique<Machine>(
      node->machine->number(), to, node->machine->disk()->Copy(from, to),
      &work_, &machine_shape_);
  PlantLies(node);
  Pass(0);
}

// An operator sets the list of all that are present, at one that has the
// newest. Where that failed, it may have been written down: then there again.
void StoreCluster::SetList() {
  if (!shape_.members) return;
  std::vector<uint64_t> ids;
  Node* at = nullptr;
  // Nobody may have the newest any more: its only holder lost it.
  uint64_t left = 0;
  for (Node* node : Present()) left = std::max(left, node->durable.epoch);
  for (Node* node : Present()) {
    if (node->durable.replica_id == 0) return;  // not opened yet
    ids.push_back(node->durable.replica_id);
    if (!node->up() || node->sick) continue;
    const bool newest = node->machine->gc().epoch >= std::min(epoch_, left);
    if (newest && (at == nullptr || at->old)) at = node;
  }
  if (operator_at_ != nullptr && !operator_at_->gone) {
    at = operator_at_->up() ? operator_at_ : nullptr;
  }
  std::sort(ids.begin(), ids.end());
  if (at == nullptr ||
      std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    return;
  }
  const uint64_t epoch = std::max(epoch_, at->machine->gc().epoch) + 1;
  const Status status = at->machine->db()->SetMembers(epoch, ids);
  Trace(at->name(), " sets the list of epoch ", epoch, ", ", ids.size(),
        " members: ", status.ToString());
  if (status.ok() && !at->machine->disk()->killed()) {
    epoch_ = epoch;
    list_is_old_ = false;
    operator_at_ = nullptr;
    Watch(at);
  } else {
    operator_at_ = at;
  }
}

void StoreCluster::Join() {
  if (nodes_.size() >= kMaxNodes) return;
  ++result_.joined;
  Node* const node =
      AddNode(ForgetfulDisk(), absl::StrCat("/r", nodes_.size()));
  node->fresh = shape_.members;
  Trace(node->name(), " joins");
  Open(node);
  list_is_old_ = shape_.members;
}

void StoreCluster::Remove() {
  const std::vector<Node*> present = Present();
  if (present.size() < 3) return;
  Node* const node = present[random_.Below(present.size())];
  // The newest list must stay.
  const bool others_have_it =
      std::any_of(present.begin(), present.end(), [&](const Node* other) {
        return other != node && other->durable.epoch == epoch_;
      });
  if (node->meetings > 0 || !others_have_it || node == operator_at_) return;
  ++result_.removed;
  Trace(node->name(), " is removed");
  node->machine->disk()->Kill();
  if (node->machine->up()) node->machine->Bury();
  node->gone = true;
  node->durable = {};
  list_is_old_ = shape_.members;
}

}  // namespace rocksync::store_simulation

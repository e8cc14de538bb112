#include "tests/simulation/store/store_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "replication/base/random_bits.h"
#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "tests/simulation/store/store_cluster_state.h"

namespace rocksync::store_simulation {
namespace {

using rocksdb::Status;

// Of identities and nonces. One cluster runs at a time.
Random* chance_of_identities = nullptr;

void RandomSource(uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<uint8_t>(chance_of_identities->Next());
  }
}

}  // namespace

StoreShape StoreShapeOf(uint64_t seed) {
  Random random(seed);
  const auto sometimes = [&random](uint64_t low, uint64_t high) {
    return random.OneIn(2) ? random.Between(low, high) : 0;
  };
  StoreShape shape;
  shape.replicas = random.Between(2, 4);
  shape.keys = random.Between(3, 12);
  shape.steps = random.Between(40, 120);
  shape.members = !random.OneIn(4);
  shape.sync_one_in = random.Between(1, 5);
  shape.crash_one_in = random.OneIn(4) ? 0 : random.Between(6, 30);
  shape.jump_one_in = sometimes(10, 40);
  shape.max_skew_ms = random.OneIn(2) ? 0 : random.Below(10'000);
  shape.unreadable_one_in = random.OneIn(3) ? random.Between(15, 40) : 0;
  shape.corrupt_one_in = random.OneIn(4) ? random.Between(20, 60) : 0;
  shape.copy_one_in = random.OneIn(4) ? random.Between(30, 80) : 0;
  shape.roll_back_one_in = random.OneIn(4) ? random.Between(30, 80) : 0;
  shape.join_one_in = random.OneIn(3) ? random.Between(20, 60) : 0;
  shape.remove_one_in = random.OneIn(4) ? random.Between(30, 80) : 0;
  shape.cut_one_in = sometimes(15, 100);
  shape.lose_one_in = sometimes(20, 100);
  shape.disturb_one_in = sometimes(5, 30);
  shape.large_value = random.OneIn(3) ? random.Between(1000, 40'000) : 0;
  return shape;
}

std::string Describe(const StoreShape& shape) {
  return absl::StrCat(
      shape.replicas, " replicas, ", shape.keys, " keys, ", shape.steps,
      " steps", shape.members ? ", members" : "", "; one write in ",
      shape.sync_one_in, " synced; one in: crash ", shape.crash_one_in,
      ", clock ", shape.jump_one_in, ", unreadable ", shape.unreadable_one_in,
      ", corruption ", shape.corrupt_one_in, ", copy ", shape.copy_one_in,
      ", roll back ", shape.roll_back_one_in, ", join ", shape.join_one_in,
      ", remove ", shape.remove_one_in, "; of frames: cut ", shape.cut_one_in,
      ", lose ", shape.lose_one_in, ", disturb ", shape.disturb_one_in);
}

StoreCluster::StoreCluster(const StoreClusterOptions& options)
    : options_(options),
      shape_(StoreShapeOf(options.seed)),
      random_(options.seed ^ 0x5707e) {
  chance_of_identities = &random_;
  SetRandomSourceForTesting(RandomSource);
  machine_shape_.flush_at_recovery = !random_.OneIn(3);
  machine_shape_.flush_at_shutdown = !random_.OneIn(3);
  machine_shape_.two_queues = random_.OneIn(4);
  machine_shape_.random_bits = [this] { return random_.Next(); };
  if (options_.trace) {
    machine_shape_.log = [this](const std::string& line) {
      options_.trace("    " + line);
    };
  }
  ReplicatorOptions* const replicator = &machine_shape_.replicator;
  if (random_.OneIn(4)) replicator->mode = ReplicatorOptions::Mode::kBloomOnly;
  if (random_.OneIn(2)) {
    replicator->prefer = ReplicatorOptions::Prefer::kRoundTrips;
  }
}

StoreCluster::~StoreCluster() {
  nodes_.clear();
  SetRandomSourceForTesting(nullptr);
}

void StoreCluster::Fingerprint(std::string_view bytes) {
  for (const char c : bytes) {
    result_.fingerprint =
        (result_.fingerprint ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
}

void StoreCluster::Pass(uint64_t ms) {
  now_ms_ += ms;
  for (const auto& node : nodes_) {
    node->machine->clock()->Set(
        static_cast<uint64_t>(static_cast<int64_t>(now_ms_) + node->skew_ms));
    if (node->readable_ms != 0 && now_ms_ >= node->readable_ms) {
      Trace(node->name(), " can be read again");
      node->readable_ms = 0;
      node->machine->SetReadsFail(false);
    }
  }
}

StoreClusterResult StoreCluster::Run() {
  Trace("seed ", options_.seed, ": ", Describe(shape_));
  Begin();
  for (uint64_t step = 0; step < shape_.steps; ++step) {
    if (!oracle_.violations().empty()) break;
    Step();
    Tidy();
  }
  faulty_ = false;
  if (oracle_.violations().empty()) Heal();
  result_.violations = oracle_.violations();
  return std::move(result_);
}

void StoreCluster::Begin() {
  for (size_t i = 0; i < shape_.replicas; ++i) {
    Node* const node = AddNode(ForgetfulDisk(), absl::StrCat("/r", i));
    if (random_.OneIn(4)) {
      std::map<Key, std::string> pairs;
      for (uint64_t n = random_.Below(6); n > 0; --n) {
        pairs[SomeKey()] = NewValue();
      }
      const Status status = node->machine->FillPlain(pairs);
      if (!status.ok()) oracle_.Broke("a plain database: " + status.ToString());
      for (const auto& [key, value] : pairs) {
        oracle_.MadeUnversioned(key, value);
        node->durable.floor[key] = {};
      }
      Trace(node->name(), " has ", pairs.size(), " pairs");
    }
    Open(node);
  }
  list_is_old_ = shape_.members;
  SetList();
}

StoreCluster::Node* StoreCluster::AddNode(ForgetfulDisk disk,
                                          const std::string& directory) {
  nodes_.push_back(std::make_unique<Node>());
  Node* const node = nodes_.back().get();
  node->machine = std::make_unique<Machine>(
      nodes_.size() - 1, directory, std::move(disk), &work_, &machine_shape_);
  if (shape_.max_skew_ms > 0) {
    node->skew_ms = static_cast<int64_t>(random_.Below(shape_.max_skew_ms));
  }
  PlantLies(node);
  Pass(0);
  return node;
}

std::vector<StoreCluster::Node*> StoreCluster::Present() const {
  std::vector<Node*> present;
  for (const auto& node : nodes_) {
    if (!node->gone) present.push_back(node.get());
  }
  return present;
}

StoreCluster::Node* StoreCluster::SomebodyElse(const Node* than) {
  std::vector<Node*> up;
  for (Node* node : Present()) {
    if (node->up() && node != than) up.push_back(node);
  }
  return up.empty() ? nullptr : up[random_.Below(up.size())];
}

StoreCluster::Node* StoreCluster::Somebody() { return SomebodyElse(nullptr); }

void StoreCluster::Step() {
  Pass(random_.Between(1, 400));
  Node* const node = Somebody();
  if (node == nullptr) return;
  if (Happens(shape_.crash_one_in)) return Crash(node);
  if (Happens(shape_.jump_one_in)) return JumpClock(node);
  if (Happens(shape_.unreadable_one_in)) return MakeUnreadable(node);
  if (Happens(shape_.corrupt_one_in)) return Corrupt(node);
  if (Happens(shape_.copy_one_in)) return Copy(node);
  if (Happens(shape_.roll_back_one_in)) {
    return node->backup ? RollBack(node) : BackUp(node);
  }
  if (Happens(shape_.join_one_in)) return Join();
  if (Happens(shape_.remove_one_in)) return Remove();
  switch (random_.Below(24)) {
    case 0:
      return CloseCleanly(node);
    case 1:
      return Flush(node);
    case 2:
      return Scrub(node);
    case 3:
      if (epoch_ == 0) return;
      Trace(node->name(),
            " collects: ", node->machine->db()->CollectTombstones().ToString());
      return;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      if (Node* const other = SomebodyElse(node)) MeetNow(node, other);
      return;
    default:
      return WriteSomething(node);
  }
}

// What follows from a step.
void StoreCluster::Tidy() {
  for (Node* node : Present()) {
    if (node->machine->up() && node->machine->disk()->killed()) Reap(node);
    if (node->up()) {
      node->machine->Settle();
      Watch(node);
    }
    // As its operator reads in the errors of its sessions.
    if (node->up() && node->machine->HasStopped()) node->sick = true;
    if (node->up() && node->sick) CloseCleanly(node);
    if (!node->machine->up() && (!faulty_ || random_.OneIn(3))) Open(node);
  }
  if (list_is_old_) SetList();
}

// What it promises for good.
void StoreCluster::Watch(Node* node) {
  const GcState now = node->machine->gc();
  oracle_.Reached(now.stable_time);
  if (node->machine->disk()->killed()) return;
  const Member* const me = now.Find(node->machine->id());
  if (now.stable_time > node->durable.stable_time) ++result_.stable_times;
  node->durable.clock = StoreAccess::IncarnationOf(node->machine->db()).clock;
  node->durable.epoch = now.epoch;
  node->durable.stable_time = now.stable_time;
  node->durable.stable_epoch = now.stable_epoch;
  node->durable.acknowledged = me != nullptr ? me->acknowledged : 0;
}

std::string StoreCluster::NewValue() {
  std::string value =
      absl::StrFormat("v%d-%08x", ++values_, random_.Next() & 0xffffffff);
  if (shape_.large_value > 0 && random_.OneIn(10)) {
    value.append(random_.Below(shape_.large_value), 'x');
  }
  return value + ";";
}

Key StoreCluster::SomeKey() {
  return {kFamilies[random_.Below(2)],
          absl::StrCat("k", random_.Below(shape_.keys))};
}

void StoreCluster::WriteSomething(Node* node) {
  // Who joins with data of its own may not be let in.
  if (node->fresh) return;
  const WorkHold waits(&work_, true);
  rocksdb::WriteOptions options;
  options.sync = random_.OneIn(shape_.sync_one_in);
  IndexedDB* const store = StoreAccess::IndexedOf(node->machine->db());
  LeafDigests::DigestSnapshot readied;
  const bool unnoted = options_.fault == StoreFault::kDigestNotNoted &&
                       node == nodes_[0].get() && random_.OneIn(3) &&
                       store->digests()->Ready({}, &readied).ok();
  std::map<Key, std::optional<std::string>> keys;
  const Status status = random_.OneIn(10) ? WriteRange(node, options, &keys)
                                          : WriteSome(node, options, &keys);
  if (unnoted) {
    store->digests()->Trust(*readied.leaves,
                            store->digests()->LeafTombstonesNow(),
                            store->digests()->LeafQuarantinedNow());
  }
  ++result_.writes;
  std::string names;
  std::set<Key> written;
  for (const auto& [key, value] : keys) {
    absl::StrAppend(&names, " ", Name(key), value ? "" : " deleted");
    written.insert(key);
  }
  Trace(node->name(), " writes", options.sync ? " synced" : "", names, ": ",
        status.ToString());
  for (Talk* talk : talks_) {
    if (talk->Has(node)) talk->touched.insert(written.begin(), written.end());
  }
  const bool died = node->machine->disk()->killed();
  if (status.ok() && !died) return NoteWritten(node, written, options.sync);
  for (const auto& [key, value] : keys) oracle_.MayHaveWritten(key, value);
  if (died) return;
  if (shape_.unreadable_one_in == 0) {
    oracle_.Broke(node->name() + " cannot write: " + status.ToString());
  }
  node->sick = true;
}

Status StoreCluster::WriteSome(
    Node* node, const rocksdb::WriteOptions& options,
    std::map<Key, std::optional<std::string>>* keys) {
  ReplicatedDB* const db = node->machine->db();
  const auto handle = [node](const Key& key) {
    return node->machine->Handle(key.first);
  };
  const Key key = SomeKey();
  switch (random_.Below(8)) {
    case 0:
    case 1: {
      (*keys)[key] = std::nullopt;
      return db->Delete(options, handle(key), key.second);
    }
    case 2: {
      rocksdb::WriteBatch batch;
      for (uint64_t n = random_.Between(1, 4); n > 0; --n) {
        const Key each = SomeKey();
        if (keys->count(each) > 0) continue;
        Status status;
        if (random_.OneIn(3)) {
          (*keys)[each] = std::nullopt;
          status = batch.Delete(handle(each), each.second);
        } else {
          (*keys)[each] = NewValue();
          status = batch.Put(handle(each), each.second, *(*keys)[each]);
        }
        if (!status.ok()) return status;
      }
      return db->Write(options, &batch);
    }
    case 3: {
      const Key merged = {kFamilies[1], key.second};
      (*keys)[merged] = NewValue();
      return db->Merge(options, handle(merged), merged.second,
                       *(*keys)[merged]);
    }
    default: {
      (*keys)[key] = NewValue();
      return db->Put(options, handle(key), key.second, *(*keys)[key]);
    }
  }
}

Status StoreCluster::WriteRange(
    Node* node, const rocksdb::WriteOptions& options,
    std::map<Key, std::optional<std::string>>* keys) {
  const Key begin = SomeKey();
  const std::string end = begin.second + "~";
  rocksdb::ColumnFamilyHandle* const handle =
      node->machine->Handle(begin.first);
  for (size_t i = 0; i < shape_.keys; ++i) {
    const Key key = {begin.first, absl::StrCat("k", i)};
    Held held;
    if (key.second < begin.second || key.second >= end) continue;
    if (node->machine->ReadKey(key, &held).ok() && !held.value) continue;
    (*keys)[key] = std::nullopt;
  }
  if (random_.OneIn(2)) {
    return node->machine->db()->DeleteRange(options, handle, begin.second, end);
  }
  return node->machine->db()->DeleteRangeInChunks(options, handle, begin.second,
                                                  end, nullptr);
}

void StoreCluster::NoteWritten(Node* node, const std::set<Key>& keys,
                               bool synced) {
  Holdings holdings;
  for (const Key& key : keys) {
    const Status status = node->machine->ReadKey(key, &holdings[key]);
    if (status.ok()) continue;
    if (!node->machine->reads_fail()) {
      oracle_.Broke(node->name() +
                    " cannot read what it wrote: " + status.ToString());
    }
    return;
  }
  oracle_.Wrote(holdings, node->name(), node->shares_id);
  for (const auto& [key, held] : holdings) {
    node->durable.pending[key] = held.version;
  }
  // A range of nothing writes nothing, and syncs nothing.
  if (synced && !keys.empty())
    Raise(node->durable.pending, &node->durable.floor);
}

StoreClusterResult RunStoreCluster(const StoreClusterOptions& options) {
  return StoreCluster(options).Run();
}

}  // namespace rocksync::store_simulation

#include "tests/simulation/cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/cluster_state.h"

namespace rocksync {
namespace {

std::string OfMembers(const GcState& gc, uint64_t Member::*field) {
  return absl::StrJoin(gc.members, " ",
                       [field](std::string* out, const Member& member) {
                         absl::StrAppend(out, member.*field);
                       });
}

}  // namespace

// FNV-1a.
void Cluster::Fingerprint(std::string_view bytes) {
  for (const char c : bytes) {
    result_.fingerprint =
        (result_.fingerprint ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
}

// --- Time -------------------------------------------------------------------

ClusterResult Cluster::Run() {
  Start();
  RunUntil(faulty_until_ms_);
  StopFaults();
  result_.violations = truth_.violations();
  if (!result_.violations.empty()) return std::move(result_);
  // Clocks may have been ahead by twice the skew of each other; wait until
  // nobody holds anything back any more.
  const uint64_t held_ms =
      2 * shape_.max_skew_ms > kMaxAheadMs ? 2 * shape_.max_skew_ms : 0;
  awake_ms_ = now_ms_ + held_ms;
  longest_session_ms_ = 0;
  RunUntil(awake_ms_);
  result_.intervals_to_equal =
      IntervalsUntil(kIntervalsToEqual, [this] { return IsEqual(); });
  if (truth_.violations().empty()) truth_.ExpectEqual(Storages());
  const uint64_t joined = result_.joined;
  result_.intervals_to_collect =
      IntervalsUntil(kIntervalsToCollect, [this] { return Collected(); });
  if (truth_.violations().empty() && !Collected()) {
    for (const auto& replica : replicas_) {
      if (replica->gone) continue;
      const GcState& knows = replica->storage->gc();
      Trace(replica->name(), " is held up by ",
            knows.HeldUpBy(replica->id, replica->storage->clock()), ", clock ",
            replica->storage->clock() >> 16, ", holds ",
            OfMembers(knows, &Member::summary), ", acknowledged ",
            OfMembers(knows, &Member::acknowledged));
    }
    truth_.Broke("equal, but tombstones do not go");
  }
  // Whoever was refused only now began anew, and bootstraps.
  if (result_.joined != joined) {
    IntervalsUntil(kIntervalsToEqual, [this] { return IsEqual(); });
  }
  if (truth_.violations().empty()) truth_.ExpectEqual(Storages());
  // Being equal, they also find out, once what hangs has timed out.
  const uint64_t proofs = result_.proofs;
  const uint64_t end_ms = now_ms_ + kIoTimeoutMs + 4 * shape_.interval_ms;
  while (truth_.violations().empty() && result_.proofs == proofs &&
         now_ms_ < end_ms) {
    RunUntil(std::min(end_ms, now_ms_ + 4 * shape_.interval_ms));
  }
  result_.violations = truth_.violations();
  if (result_.violations.empty() && result_.proofs == proofs) {
    result_.violations.emplace_back("equal, but no session proves it");
  }
  if (!result_.violations.empty() || !streams()) return std::move(result_);
  StreamAlone();
  result_.violations = truth_.violations();
  return std::move(result_);
}

// Those in which a session expired do not count, as long as these get on.
uint64_t Cluster::IntervalsUntil(uint64_t most,
                                 const std::function<bool()>& done) {
  const uint64_t enough_expired = expired_ + kMaxExpired * replicas_.size();
  uint64_t intervals = 0;
  while (truth_.violations().empty() && !done() && intervals < most) {
    const uint64_t expired = expired_;
    RunUntil(now_ms_ + IntervalMs());
    if (expired_ == expired || expired_ > enough_expired) ++intervals;
  }
  return intervals;
}

bool Cluster::IsEqual() {
  // What a disk has damaged may have been on its way to somebody.
  if (shape_.corrupt_every_ms > 0) Settle();
  return truth_.Equal(Storages());
}

void Cluster::RunUntil(uint64_t end_ms) {
  while (!events_.empty() && events_.top().at_ms <= end_ms) {
    now_ms_ = events_.top().at_ms;
    // The queue only lends its top, but it is popped at once.
    const std::function<void()> run =
        std::move(const_cast<Event&>(events_.top()).run);
    events_.pop();
    run();
    if (!truth_.violations().empty()) return;
  }
  now_ms_ = end_ms;
}

// --- What goes wrong, and what is written -----------------------------------

void Cluster::Start() {
  Trace(Describe(shape_));
  faulty_until_ms_ = kStartMs + shape_.faulty_ms;
  for (size_t i = 0; i < shape_.replicas; ++i) {
    std::vector<size_t> peers;
    for (size_t other = 0; other < shape_.replicas; ++other) {
      const bool next = (i + 1) % shape_.replicas == other;
      const bool linked =
          shape_.links == ClusterShape::Links::kMesh   ? other != i
          : shape_.links == ClusterShape::Links::kRing ? next && other != i
                                                       : other == 0 && i != 0;
      if (linked) peers.push_back(other);
    }
    // Who dials nobody has no peers by whom to resolve what it quarantined.
    if (peers.empty() && shape_.corrupt_every_ms > 0) peers.push_back(1);
    OpenEmpty(AddReplica(std::move(peers)));
  }
  for (const auto& replica : replicas_) StartReplica(replica.get());
  WriteSomething();
  const auto later = [this](uint64_t every_ms, void (Cluster::*what)()) {
    if (every_ms > 0) {
      At(now_ms_ + random_.Between(1, every_ms),
         [this, what] { (this->*what)(); });
    }
  };
  later(shape_.crash_every_ms, &Cluster::CrashSomebody);
  later(shape_.partition_every_ms, &Cluster::PartSomebody);
  later(shape_.fail_write_every_ms, &Cluster::FailSomebody);
  later(shape_.max_skew_ms > 0 ? 10'000 : 0, &Cluster::SkewSomebody);
  later(std::max(shape_.rollback_every_ms, shape_.old_copy_every_ms),
        &Cluster::BackUpSomebody);
  later(shape_.rollback_every_ms, &Cluster::RollBackSomebody);
  later(shape_.copy_every_ms, &Cluster::CopySomebody);
  later(shape_.corrupt_every_ms, &Cluster::CorruptSomebody);
  later(shape_.corrupt_every_ms > 0 ? 5000 : 0, &Cluster::ScrubAll);
  later(shape_.members ? 5000 : 0, &Cluster::Operate);
  later(shape_.join_every_ms, &Cluster::AddSomebody);
  later(shape_.old_copy_every_ms, &Cluster::AddOldCopy);
  later(shape_.remove_every_ms, &Cluster::RemoveSomebody);
  later(shape_.absent_every_ms, &Cluster::LeaveSomebody);
}

MemoryStorage::Options Cluster::StorageOptions(const Replica* replica,
                                               size_t number) {
  MemoryStorage::Options options;
  options.families.assign({"default", "other"});
  options.families.resize(shape_.families);
  options.leaf_bits = kLeafBitsHere;
  if (replica == nullptr) return options;
  options.replica_id = replica->id;
  options.wall_ms = [this, replica] { return WallMs(*replica); };
  options.max_ahead_ms = kMaxAheadMs;
  options.sync_every_write = shape_.sync_every_write;
  if (number == 0) options.fault = options_.storage_fault;
  return options;
}

// Of the bounds. A replica may be the peer of all others, takes them one after
// the other, and sessions may last many intervals of the schedule.
uint64_t Cluster::IntervalMs() const {
  const uint64_t one_by_one =
      shape_.incoming_at_once ? 0
                              : longest_session_ms_ * (replicas_.size() - 1);
  return std::max({shape_.interval_ms, kLeastIntervalMs, one_by_one});
}

Cluster::Replica* Cluster::AddReplica(std::vector<size_t> peers) {
  replicas_.push_back(std::make_unique<Replica>());
  Replica* const replica = replicas_.back().get();
  replica->number = replicas_.size() - 1;
  replica->skew_ms = shape_.max_skew_ms;
  replica->peers = std::move(peers);
  return replica;
}

void Cluster::StartReplica(Replica* replica) {
  replica->up = true;
  replica->first_clock = replica->storage->clock();
  if (replica->incarnation.counter > 0) {
    Append(replica->incarnation, replica->first_clock, &replica->past);
  }
  replica->incarnation = {.counter = replica->incarnation.counter + 1,
                          .random = random_.Next()};
  replica->membership.emplace(
      replica->storage.get(),
      Incarnation{.incarnation = replica->incarnation,
                  .first_clock = replica->first_clock,
                  .past = replica->past},
      options_.member_fault,
      [this, replica](const GcState& next) { StableTimeMoves(replica, next); });
  replica->equal_ms.assign(replica->peers.size(), 0);
  if (replica->storage->HasQuarantined())
    replica->last_quarantined_ms = now_ms_;
  Trace(replica->name(), " starts, id ", replica->id, ", incarnation ",
        replica->incarnation.counter);
  if (replica->storage->stable_time() > 0) SweepSoon(replica);
  if (streams()) StartStreams(replica);
  StartSchedule(replica);
}

void Cluster::StartSchedule(Replica* replica) {
  ScheduleOptions options;
  options.interval_ms = interval_ms_;
  options.max_backoff_ms = 2 * shape_.interval_ms;
  replica->schedule.emplace(options, replica->peers.size(), random_.Next(),
                            now_ms_);
  ++replica->schedules;
  if (streams()) StartDialingStreams(replica);
  Tick(replica);
}

void Cluster::Restart(Replica* replica, uint64_t after_ms) {
  At(now_ms_ + after_ms, [this, replica] {
    if (!replica->up && !replica->gone) StartReplica(replica);
  });
}

// As if its power failed.
void Cluster::Stop(Replica* replica) {
  replica->up = false;
  replica->storage->Crash();
  // Breaking a link may make its dialer open another.
  for (size_t i = 0; i < links_.size(); ++i) {
    Link* const link = links_[i].get();
    if (link->open && (link->sides[0].replica == replica ||
                       link->sides[1].replica == replica)) {
      Break(link, "crash");
    }
    for (const int number : {0, 1}) {
      Side& side = link->sides[number];
      if (side.replica != replica) continue;
      side.session.reset();
      DropStream(link, number);
      side.view.reset();
    }
  }
  StopStreams(replica);
}

void Cluster::WriteSomething() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.write_every_ms),
     [this] { WriteSomething(); });
  Replica& replica = Somebody();
  if (replica.up) Write(&replica);
}

void Cluster::Write(Replica* writer) {
  Replica& replica = *writer;
  const auto family = static_cast<uint32_t>(random_.Below(shape_.families));
  const std::string key = absl::StrCat("k", random_.Below(shape_.keys));
  if (random_.OneIn(20)) {
    const std::string end = absl::StrCat("k", random_.Below(shape_.keys), "~");
    for (const auto& deleted : replica.storage->DeleteRange(family, key, end)) {
      NoteWrite(writer, deleted);
    }
  } else if (random_.OneIn(4)) {
    replica.storage->Delete(family, key);
    NoteWrite(writer, {family, key});
  } else {
    std::string value = absl::StrCat("v", ++result_.writes);
    value.resize(std::max(value.size(), shape_.value_bytes), 'x');
    if (shape_.large_value > 0 && random_.OneIn(20)) {
      value.resize(shape_.large_value, 'x');
    }
    replica.storage->Put(family, key, value);
    NoteWrite(writer, {family, key});
  }
  if (random_.OneIn(10)) replica.storage->Sync().IgnoreError();
  NoteSyncs(&replica);
}

void Cluster::NoteWrite(Replica* writer, const MemoryStorage::Key& key) {
  const Replica& replica = *writer;
  const MemoryStorage::Record& record = replica.storage->records().at(key);
  AppendChange(writer,
               {key.first, key.second, record.version, record.tombstone,
                record.tombstone ? "" : *record.value},
               0);
  truth_.Wrote(key, record, replica.shares_id);
  Trace(replica.name(), record.tombstone ? " deletes " : " puts ", key.first,
        "/", key.second, " @", record.version.time >> 16, ".",
        record.version.time & 0xffff);
}

void Cluster::CrashSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.crash_every_ms),
     [this] { CrashSomebody(); });
  Replica& replica = Somebody();
  if (!replica.up) return;
  ++result_.crashes;
  Trace(replica.name(), " crashes");
  Stop(&replica);
  Restart(&replica, random_.Between(10, 10'000));
}

void Cluster::PartSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.partition_every_ms),
     [this] { PartSomebody(); });
  const size_t a = random_.Below(shape_.replicas);
  const size_t b = random_.Below(shape_.replicas);
  if (a == b) return;
  Part(a, b, random_.Between(100, 20'000));
}

void Cluster::Part(size_t a, size_t b, uint64_t for_ms) {
  const std::pair<size_t, size_t> pair = std::minmax(a, b);
  parted_.insert(pair);
  Trace("r", pair.first, " and r", pair.second, " are parted");
  At(now_ms_ + for_ms, [this, pair] {
    parted_.erase(pair);
    Trace("r", pair.first, " and r", pair.second, " are joined");
  });
}

void Cluster::FailSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.fail_write_every_ms),
     [this] { FailSomebody(); });
  Replica& replica = Somebody();
  Trace(replica.name(), " will fail to apply");
  replica.storage->FailApply(absl::ResourceExhaustedError("disk full"));
}

void Cluster::SkewSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 20'000), [this] { SkewSomebody(); });
  Replica& replica = Somebody();
  replica.skew_ms = random_.Below(2 * shape_.max_skew_ms + 1);
  Trace(replica.name(), "'s clock is off by ",
        static_cast<int64_t>(replica.skew_ms - shape_.max_skew_ms), " ms");
}

void Cluster::StopFaults() {
  Trace("faults stop");
  parted_.clear();
  for (const auto& replica : replicas_) {
    replica->skew_ms = shape_.max_skew_ms;
    replica->storage->FailApply(absl::OkStatus(), 0);
    NoteSyncs(replica.get());
    if (replica->removed_epoch > 0) Retire(replica.get());
    if (!replica->up && !replica->gone) StartReplica(replica.get());
  }
  if (truth_.violations().empty()) Settle();
}

// What a replica holds that is out of the cluster counts for nothing.
void Cluster::NoteSyncs(Replica* replica) {
  if (replica->storage->syncs() == replica->syncs_seen) return;
  replica->syncs_seen = replica->storage->syncs();
  if (replica->removed_epoch > 0 || replica->gone) return;
  truth_.Synced(replica->storage->synced_records());
}

Truth::Storages Cluster::Storages(const Replica* without) const {
  Truth::Storages storages;
  for (const auto& replica : replicas_) {
    if (replica.get() == without || replica->gone ||
        replica->removed_epoch > 0) {
      continue;
    }
    storages.push_back(replica->storage.get());
  }
  return storages;
}

void Cluster::Settle() {
  Truth::Storages fenced;
  for (const auto& replica : replicas_) {
    if (IsFenced(*replica)) fenced.push_back(replica->storage.get());
  }
  truth_.Settle(Storages(), fenced);
}

ClusterResult RunCluster(const ClusterOptions& options) {
  return Cluster(options).Run();
}

}  // namespace rocksync

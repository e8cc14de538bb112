// Pairs from peers: how they are applied, under the same locks as local writes.

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "replication/protocol/apply.h"
#include "replication/store/adoption.h"
#include "replication/store/index_key.h"
#include "replication/store/membership.h"
#include "replication/store/status.h"
#include "replication/store/store.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr auto kStallPoll = std::chrono::milliseconds(2);

// What a key holds, as far as the batch at hand has come.
struct Current {
  bool known = false;
  StoredEntry entry;
};

PairVersion Public(const Version& version) {
  return {version.time, version.replica};
}

}  // namespace

absl::Status Store::TakeSnapshot(
    const std::function<bool()>& cancelled,
    std::shared_ptr<const HeldSnapshot>* snapshot,
    std::shared_ptr<const LeafDigests::Leaves>* leaves) {
  const AdoptionProgress progress = adoption_->Progress();
  if (!progress.done) {
    return absl::UnavailableError(
        "this replica is still " + progress.activity + ": " +
        std::to_string(static_cast<int>(progress.percent)) + " % done");
  }
  return digests_.Ready(cancelled, snapshot, leaves);
}

bool Store::HoldsBack(const Version& version) const {
  if (!TooFarAhead(version, WallMs(), options_.max_clock_ahead_ms)) {
    return false;
  }
  NameHeldBack(version);
  return true;
}

void Store::NameHeldBack(const Version& version) const {
  constexpr uint64_t kBetweenLinesMs = 60'000;
  held_back_replica_ = version.replica;
  const uint64_t now_ms = WallMs();
  {
    const std::lock_guard lock(held_back_mutex_);
    if (now_ms < held_back_silent_until_ms_) return;
    held_back_silent_until_ms_ = now_ms + kBetweenLinesMs;
  }
  rocksdb::Warn(db()->GetDBOptions().info_log,
                "rocksync: holding back a pair of replica %016llx, whose clock "
                "is %llu s ahead of this machine's; correct that clock and run "
                "`rocksync restamp` there",
                static_cast<unsigned long long>(version.replica),
                static_cast<unsigned long long>(
                    (rocksync::WallMs(version) - now_ms) / 1000));
}

// Whether `pair` beats what is stored. Reads the stored value only for equal
// versions, which adopted pairs have.
Status Store::Contends(const Family& family, const Pair& pair,
                       const StoredEntry& stored, bool* beats) const {
  if (stored.suspect) {
    *beats = true;
    return Status::OK();
  }
  Contender theirs{pair.version, pair.tombstone, {}};
  Contender ours{stored.version, stored.tombstone, {}};
  if (pair.version == stored.version && !pair.tombstone && !stored.tombstone) {
    theirs.value = HashValue(pair.value);
    if (stored.pending) {
      ours.value = {stored.hash_high, stored.hash_low};
    } else if (hasher_->HashPair(family.name, pair.key, pair.version,
                                 theirs.value) ==
               ElementHash{stored.hash_high, stored.hash_low}) {
      ours.value = theirs.value;
    } else {
      rocksdb::PinnableSlice value;
      const Status status =
          db()->Get(rocksdb::ReadOptions(), family.handle(), pair.key, &value);
      if (!status.ok() && !status.IsNotFound()) return status;
      ours.value = HashValue({value.data(), value.size()});
      if (hasher_->HashPair(family.name, pair.key, stored.version,
                            ours.value) !=
          ElementHash{stored.hash_high, stored.hash_low}) {
        *beats = true;  // ours is rot
        return Status::OK();
      }
    }
  }
  *beats = Beats(theirs, ours);
  return Status::OK();
}

Terms Store::terms() const { return {membership_->epoch(), reader_.horizon()}; }

Status Store::ApplyOnce(std::span<const Pair> pairs, const Sender& sender,
                        const Terms& terms,
                        const std::function<bool()>& cancelled,
                        std::vector<ApplyOutcome>* outcomes) {
  const FamilyTable& families = table();
  const uint64_t wall_ms = WallMs();
  outcomes->assign(pairs.size(), ApplyOutcome::kSuperseded);
  std::vector<uint64_t> positions(pairs.size());
  StripeSet stripes;
  uint64_t latest = 0;
  uint64_t latest_of_sender = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    if (TooFarAhead(pair.version, wall_ms, options_.max_clock_ahead_ms)) {
      (*outcomes)[i] = ApplyOutcome::kHeldBack;
      NameHeldBack(pair.version);
      continue;
    }
    latest = std::max(latest, pair.version.time);
    if (pair.version.replica == sender.replica_id) {
      latest_of_sender = std::max(latest_of_sender, pair.version.time);
    }
    positions[i] =
        hasher_->Position(families.families()[pair.family].name, pair.key);
    stripes.Add(StripeOf(positions[i]));
  }

  if (sender.replica_id != 0 && terms.epoch > 0) {
    // Whoever sets a list holds the members' lock and then all stripes.
    const Status taken =
        membership_->TakeFrom(sender, terms.epoch, latest_of_sender);
    if (!taken.ok()) return taken;
  }
  if (!locks_.Lock(stripes, cancelled)) {
    return Status::Incomplete("waiting for writers of the same keys");
  }
  StripeSetGuard guard(&locks_, stripes, std::adopt_lock);
  // Who is no member any more hands nothing on from the moment that this
  // replica knows. And what the peer sends may have been deleted here since it
  // was asked for, and that forgotten.
  if (this->terms() != terms) {
    return Status::TryAgain(
        "rocksync: the member list or the horizon has changed");
  }
  // Under the locks: whoever writes these keys next draws a later version.
  clock_.Observe(latest);
  Status status = lease_.Cover(latest, /*may_wait=*/false);
  if (!status.ok()) return status;

  rocksdb::WriteBatch batch;
  std::vector<size_t> applied;
  std::vector<AppliedChange> changes;
  uint64_t repaired = 0;
  std::map<std::pair<uint32_t, std::string_view>, StoredEntry> written;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    if ((*outcomes)[i] == ApplyOutcome::kHeldBack) continue;
    const Family& family = families.families()[pair.family];
    Current current;
    const auto before = written.find({pair.family, pair.key});
    if (before != written.end()) {
      current = {true, before->second};
    } else {
      status = reader_.Get({positions[i], family.id, pair.key}, &current.entry);
      if (!status.ok() && !status.IsNotFound()) return status;
      current.known = status.ok();
    }
    // A forgotten tombstone is not accepted, unless it kills something after
    // all, and even then it leaves no entry.
    const bool forgotten =
        IsForgotten(pair.tombstone, pair.version, reader_.horizon());
    bool beats = !forgotten;
    status = current.known ? Contends(family, pair, current.entry, &beats)
                           : Status::OK();
    if (status.ok() && beats) {
      status = pair.tombstone
                   ? batch.Delete(family.handle(), pair.key)
                   : batch.Put(family.handle(), pair.key, pair.value);
    }
    if (!status.ok()) return status;
    if (!beats) continue;
    if (current.known && current.entry.suspect) ++repaired;
    (*outcomes)[i] = ApplyOutcome::kApplied;
    const std::string_view value = pair.value;
    written[{pair.family, pair.key}] =
        PendingEntry(pair.version, pair.tombstone ? nullptr : &value);
    applied.push_back(i);
    changes.push_back({family.name, pair.key,
                       pair.tombstone ? rocksdb::Slice() : pair.value,
                       pair.tombstone, Public(pair.version), current.known,
                       current.known && current.entry.tombstone,
                       Public(current.entry.version)});
  }
  if (applied.empty()) return Status::OK();

  for (const size_t i : applied) {
    const Pair& pair = pairs[i];
    const std::string_view value = pair.value;
    const IndexKey key{positions[i], families.families()[pair.family].id,
                       pair.key};
    if (IsForgotten(pair.tombstone, pair.version, reader_.horizon())) {
      RemoveEntry(&batch, key);
    } else {
      PutEntry(&batch, key,
               PendingEntry(pair.version, pair.tombstone ? nullptr : &value));
    }
    digests_.Note(positions[i]);
  }
  if (options_.hook != nullptr) options_.hook->BeforeApply(changes);
  rocksdb::WriteOptions write = options_.apply_write_options;
  write.no_slowdown = true;
  status = db()->Write(write, &batch);
  if (status.ok()) repaired_pairs_ += repaired;
  return status;
}

absl::Status Store::Apply(std::span<const Pair> pairs, const Sender& sender,
                          const Terms& terms,
                          const std::function<bool()>& cancelled,
                          std::vector<ApplyOutcome>* outcomes) {
  if (!adoption_->Progress().done) {
    return absl::UnavailableError("this replica is being read");
  }
  for (const Pair& pair : pairs) {
    if (pair.family >= table().families().size()) {
      return absl::InvalidArgumentError("a pair of an unknown family");
    }
  }
  Status status;
  while (true) {
    status = ApplyOnce(pairs, sender, terms, cancelled, outcomes);
    // Incomplete: RocksDB would have slowed a write down, or a lock was taken.
    if (!status.IsIncomplete()) break;
    if (cancelled && cancelled()) {
      return absl::UnavailableError("cancelled while RocksDB stalls writes: " +
                                    status.ToString());
    }
    std::this_thread::sleep_for(kStallPoll);
  }
  if (!status.ok()) return ToAbsl(status);
  for (const ApplyOutcome outcome : *outcomes) {
    if (outcome == ApplyOutcome::kHeldBack) ++held_back_pairs_;
  }
  return absl::OkStatus();
}

void Store::MarkSuspect(const Family& family, std::string_view key,
                        const Version& version) {
  const uint64_t position = hasher_->Position(family.name, key);
  StripeGuard guard(&locks_, StripeOf(position));
  const IndexKey index_key{position, family.id, key};
  StoredEntry entry;
  const Status status = reader_.Get(index_key, &entry);
  if (!status.ok() || entry.suspect || entry.version != version) return;
  entry.suspect = true;
  rocksdb::WriteBatch batch;
  PutEntry(&batch, index_key, entry);
  digests_.Note(position);
  if (db()->Write(rocksdb::WriteOptions(), &batch).ok()) CountSuspect();
}

}  // namespace rocksync

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

constexpr uint64_t kBetweenLinesMs = 60'000;
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

absl::Status Store::TakeSnapshot(const std::function<bool()>& cancelled,
                                 LeafDigests::Readied* readied) {
  const uint64_t checks = adoption_->generation();
  const uint64_t drops = family_drops_;
  const AdoptionProgress progress = adoption_->Progress();
  if (!progress.done) {
    std::string text = "this replica is still " + progress.activity + ": " +
                       std::to_string(static_cast<int>(progress.percent)) +
                       " % done";
    if (!progress.status.ok()) text += "; " + progress.status.ToString();
    return absl::UnavailableError(text);
  }
  const absl::Status status = digests_.Ready(cancelled, readied);
  if (absl::IsUnavailable(status)) {
    DealWithForeignWrites(/*may_wait=*/true, cancelled).PermitUncheckedError();
  }
  if (status.ok() && adoption_->generation() != checks) {
    return absl::UnavailableError("this replica has begun re-checking");
  }
  // The digests count what the family held until that is dropped from them,
  // too.
  if (status.ok() && (drops % 2 != 0 || family_drops_ != drops)) {
    return absl::UnavailableError(
        "a column family is being dropped on this replica");
  }
  // What was quarantined before this opening is to be settled like the rest,
  // and not only once a scrub comes by. Once: what does not read stays
  // quarantined.
  if (status.ok() && readied->quarantined > 0 && !quarantined_noted_)
    NoteQuarantined();
  return status;
}

bool Store::HoldsBack(const Version& version) const {
  if (!TooFarAhead(version, WallMs(), options_.max_clock_ahead_ms)) {
    return false;
  }
  NameHeldBack(version);
  return true;
}

void Store::NoteOversized(const std::string& family,
                          std::string_view key) const {
  ++oversized_pairs_;
  const uint64_t now_ms = WallMs();
  uint64_t until_ms = oversized_silent_until_ms_;
  if (now_ms < until_ms || !oversized_silent_until_ms_.compare_exchange_strong(
                               until_ms, now_ms + kBetweenLinesMs)) {
    return;
  }
  constexpr size_t kShown = 32;
  rocksdb::Warn(
      db()->GetDBOptions().info_log,
      "rocksync: a pair in family %s does not travel, since key or value is "
      "above max_key_bytes or max_value_bytes; its key, of %llu bytes, begins "
      "with 0x%s; enlarge the limits on all replicas, or delete it",
      family.c_str(), static_cast<unsigned long long>(key.size()),
      rocksdb::Slice(key.data(), std::min(key.size(), kShown))
          .ToString(/*hex=*/true)
          .c_str());
}

void Store::NameHeldBack(const Version& version) const {
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

Status Store::Contend(const Family& family, const Pair& pair,
                      const IndexKey& key, StoredEntry* stored,
                      Contest* contest) {
  if (stored->quarantined) {
    const Status status =
        ContendWithQuarantined(family, pair, key, stored, contest);
    if (!status.ok() || stored->quarantined) return status;
  }
  if (pair.version == stored->version) {
    return ContendAtOneVersion(family, pair, key, *stored, contest);
  }
  *contest = pair.version > stored->version ? Contest::kWins : Contest::kLoses;
  return Status::OK();
}

// A quarantined pair loses against everything, but before it is overwritten it
// is read again, and released if it matches. Corruption may pass: until it has
// lasted, only what is not older replaces it.
Status Store::ContendWithQuarantined(const Family& family, const Pair& pair,
                                     const IndexKey& key, StoredEntry* stored,
                                     Contest* contest) {
  *contest = Contest::kWins;
  if (SaysAnything(*stored) && pair.version > stored->version) {
    return Status::OK();
  }
  Examination found;
  const Status status = Examine(reader_, family, key, &found);
  if (!status.ok()) return status;
  const auto lasts = [&] {
    return unreadable_.Last(family.id, pair.key, WallMs());
  };
  switch (found.verdict) {
    case Examination::Verdict::kAgrees:
      *stored = found.entry;
      stored->quarantined = false;
      break;
    case Examination::Verdict::kUnreadable:
      if (pair.version < stored->version && !lasts()) {
        *contest = Contest::kDeferred;
      }
      break;
    case Examination::Verdict::kEntity:
      *contest = Contest::kDeferred;
      break;
    case Examination::Verdict::kUnknown:
    case Examination::Verdict::kDiffers:
    case Examination::Verdict::kShows:
      break;
  }
  return status;
}

// Reads the stored pair only if it would win, as a damaged one must not.
Status Store::ContendAtOneVersion(const Family& family, const Pair& pair,
                                  const IndexKey& key,
                                  const StoredEntry& stored,
                                  Contest* contest) const {
  const auto hash_of = [&](const StoredEntry& entry) {
    return CompleteHash(*hasher_, family.name, pair.key, entry);
  };
  const std::string_view value = pair.value;
  const Contender theirs{
      pair.version, pair.tombstone,
      hash_of(PendingEntry(*hasher_, pair.version,
                           pair.tombstone ? nullptr : &value))};
  const Contender ours{stored.version, stored.tombstone, hash_of(stored)};
  *contest = Contest::kLoses;
  if (ours.hash == theirs.hash) return Status::OK();  // they are one
  // A tombstone is its version: if the hashes of two differ, ours is damaged.
  if (Beats(theirs, ours) || (theirs.tombstone && ours.tombstone)) {
    *contest = Contest::kWins;
    return Status::OK();
  }
  // A pending one may be of this very batch, and not to be read yet.
  if (ours.tombstone || stored.pending) return Status::OK();
  Examination found;
  if (Examine(reader_, family, key, &found).ok() &&
      found.verdict == Examination::Verdict::kDiffers) {
    *contest = Contest::kWins;  // ours is corruption
  }
  return Status::OK();  // what cannot be read now is not known to be
}

Terms Store::terms() const {
  return {membership_->epoch(), reader_.stable_time(), membership_->purged(),
          membership_->unproven()};
}

Status Store::ApplyOnce(std::span<const Pair> pairs,
                        const FamilyTable& families, const Sender& sender,
                        const Terms& terms,
                        const std::function<bool()>& cancelled,
                        std::vector<ApplyOutcome>* outcomes) {
  const uint64_t wall_ms = WallMs();
  size_t bytes = 0;
  for (const Pair& pair : pairs) bytes += pair.key.size() + pair.value.size();
  const Status room = space_.Check(wall_ms, bytes, /*deletes=*/false);
  if (!room.ok()) return room;
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
  // A family may have gone meanwhile, and ordinals changed.
  if (&table() != &families) {
    return Status::ColumnFamilyDropped(
        "rocksync: a column family was created or dropped",
        "set the connection up anew");
  }
  // A replica that is no member any more hands nothing on from the moment that
  // this replica knows. And what the peer sends may have been deleted here
  // since it was asked for, and the tombstone collected.
  if (!StillHold(terms, this->terms())) {
    return Status::TryAgain(
        "rocksync: the member list, or what is collected, has changed");
  }
  // What came by another door has no version yet. It may be later.
  if (!AllIsIndexed(cancelled)) {
    return Status::TryAgain(
        "rocksync: changed past the library",
        "what changed is being read; wait until ReplicatedDB::Adoption() is "
        "done, the next session then goes on by itself");
  }
  // Under the locks: whoever writes these keys next draws a later version.
  clock_.Observe(latest);
  Status status = lease_.Cover(latest, /*may_wait=*/false);
  if (!status.ok()) return status;

  rocksdb::WriteBatch batch;
  std::vector<size_t> applied;
  std::vector<AppliedChange> changes;
  uint64_t repaired = 0;
  std::vector<std::pair<size_t, StoredEntry>> releases;
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
    // A collected tombstone is not accepted, unless it kills something after
    // all, and even then it leaves no entry.
    const bool collected =
        IsCollected(pair.tombstone, pair.version, reader_.stable_time());
    Contest contest = collected ? Contest::kLoses : Contest::kWins;
    const bool was_quarantined = current.known && current.entry.quarantined;
    const IndexKey key{positions[i], family.id, pair.key};
    status = current.known
                 ? Contend(family, pair, key, &current.entry, &contest)
                 : Status::OK();
    if (!status.ok()) return status;
    const bool released = was_quarantined && !current.entry.quarantined;
    if (contest == Contest::kDeferred) {
      (*outcomes)[i] = ApplyOutcome::kDeferred;
    } else if (contest == Contest::kLoses && released) {
      releases.emplace_back(i, current.entry);
    }
    if (contest != Contest::kWins) continue;
    status = pair.tombstone ? batch.Delete(family.handle(), pair.key)
                            : batch.Put(family.handle(), pair.key, pair.value);
    if (!status.ok()) return status;
    if (was_quarantined) {
      ++repaired;
      unreadable_.Forget(family.id, pair.key);
    }
    (*outcomes)[i] = ApplyOutcome::kApplied;
    const std::string_view value = pair.value;
    written[{pair.family, pair.key}] =
        PendingEntry(*hasher_, pair.version, pair.tombstone ? nullptr : &value);
    applied.push_back(i);
    changes.push_back({family.name, pair.key,
                       pair.tombstone ? rocksdb::Slice() : pair.value,
                       pair.tombstone, Public(pair.version), current.known,
                       current.known && current.entry.tombstone,
                       Public(current.entry.version)});
  }
  if (applied.empty() && releases.empty()) return Status::OK();

  for (const auto& [i, entry] : releases) {
    PutEntry(
        &batch,
        {positions[i], families.families()[pairs[i].family].id, pairs[i].key},
        entry);
    digests_.Note(positions[i]);
  }
  for (const size_t i : applied) {
    const Pair& pair = pairs[i];
    const std::string_view value = pair.value;
    const IndexKey key{positions[i], families.families()[pair.family].id,
                       pair.key};
    if (IsCollected(pair.tombstone, pair.version, reader_.stable_time())) {
      RemoveEntry(&batch, key);
    } else {
      PutEntry(&batch, key,
               PendingEntry(*hasher_, pair.version,
                            pair.tombstone ? nullptr : &value));
    }
    digests_.Note(positions[i]);
  }
  if (options_.hook != nullptr && !changes.empty()) {
    options_.hook->BeforeApply(changes);
  }
  rocksdb::WriteOptions write = options_.apply_write_options;
  write.no_slowdown = true;
  // With no_slowdown RocksDB would not slow it down but refuse it, for as long
  // as there is anything to be compacted.
  write.low_pri = false;
  status = db()->Write(write, &batch);
  if (!status.ok()) return status;
  repaired_pairs_ += repaired;
  released_pairs_ += releases.size();
  return status;
}

absl::Status Store::Apply(std::span<const Pair> pairs,
                          const FamilyTable& families, const Sender& sender,
                          const Terms& terms,
                          const std::function<bool()>& cancelled,
                          std::vector<ApplyOutcome>* outcomes) {
  if (!adoption_->Progress().done) {
    return absl::UnavailableError("this replica is being read");
  }
  for (const Pair& pair : pairs) {
    if (pair.family >= families.families().size()) {
      return absl::InvalidArgumentError("a pair of an unknown family");
    }
  }
  Status status;
  while (true) {
    status = ApplyOnce(pairs, families, sender, terms, cancelled, outcomes);
    // Incomplete: RocksDB would have slowed a write down, or a lock was taken.
    if (!status.IsIncomplete()) break;
    if (cancelled && cancelled()) {
      return absl::UnavailableError("cancelled while RocksDB stalls writes: " +
                                    status.ToString());
    }
    std::this_thread::sleep_for(kStallPoll);
  }
  if (status.IsTryAgain()) {
    DealWithForeignWrites(/*may_wait=*/true, cancelled).PermitUncheckedError();
  }
  if (!status.ok()) return ToAbsl(status);
  for (const ApplyOutcome outcome : *outcomes) {
    if (outcome == ApplyOutcome::kHeldBack) ++held_back_pairs_;
  }
  return absl::OkStatus();
}

void Store::Reexamine(const std::string& index_key) {
  IndexKey key;
  const Family* family = nullptr;
  if (ParseIndexKey(index_key, &key)) family = table().Find(key.family_id);
  PairCheck check(this);
  PairCheck::Finding finding = PairCheck::Finding::kFine;
  // What cannot be looked at now is looked at by the next session, or a scrub.
  const Status status =
      family != nullptr &&
              hasher_->Position(family->name, key.key) == key.position
          ? check.Check(*family, std::string(key.key), &finding)
          : check.CheckStray(index_key, &finding);
  status.PermitUncheckedError();
}

void Store::DistrustDigests() {
  ++wrong_digests_;
  digests_.Distrust();
  rocksdb::Warn(db()->GetDBOptions().info_log,
                "rocksync: digests of the index are not those of its entries; "
                "they are read anew");
}

}  // namespace rocksync

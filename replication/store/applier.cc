#include "replication/store/applier.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "replication/base/status.h"
#include "replication/session/acceptance.h"
#include "replication/session/conflict.h"
#include "replication/store/upkeep/examination.h"
#include "replication/store/write/callback_scope.h"
#include "replication/store/write/write_stall.h"

namespace rocksync {
namespace {

using rocksdb::Status;

PairVersion Public(const Version& version) {
  return {version.time, version.replica};
}

StoredEntry EntryOf(const ElementHasher& hasher, const Pair& pair) {
  const std::string_view value = pair.value;
  return PendingEntry(hasher, pair.version, pair.tombstone ? nullptr : &value);
}

}  // namespace

struct Applier::Batch {
  // What a pair from a peer replaces.
  struct Replaced {
    bool any = false;
    bool tombstone = false;
    Version version;
  };

  // A pair that is written, by its index in the batch.
  struct Winner {
    size_t i = 0;
    StoredEntry entry;
    Replaced replaced;
    // What it changes in its leaf's digest. nullopt: the digests have to read
    // it, as a tombstone may be collected, and a quarantined pair be in none.
    std::optional<Digest> change;
  };

  std::span<const Pair> pairs;
  const FamilyTable& names;  // by whose ordinals the pairs name families
  const Sender& sender;
  const Terms& terms;
  const std::function<bool()>& cancelled;
  std::vector<ApplyOutcome>* outcomes;

  // The batch was not applied, as an index build is in progress.
  bool unindexed = false;

  // Taken once the stripes are held: a family's drop ends before that or after
  // this batch (see Writer::CommitOne).
  FamiliesInUse in_use{};

  // Set by Place.
  std::vector<uint64_t> positions{};
  StripeSet stripes{};
  uint64_t latest = 0;  // the latest time of a pair that is not held back
  uint64_t latest_of_sender = 0;

  // Set by ReadCurrent: what the keys hold as far as the batch has come;
  // nullopt: nothing.
  std::vector<std::optional<StoredEntry>> current{};
  // The next pair of the same key, for those that have one.
  std::unordered_map<size_t, size_t> next_of_key{};

  // Set by Contend: the data, and then the entries.
  rocksdb::WriteBatch written = rocksdb::WriteBatch();
  std::vector<Winner> applied{};
  std::vector<std::pair<size_t, StoredEntry>> releases{};
  uint64_t repaired = 0;

  // Returns the family, without a handle.
  const Family& FamilyOf(size_t i) const {
    return names.families()[pairs[i].family];
  }
  // Returns the family with its handle. REQUIRES: the stripes are held.
  const Family& HeldFamilyOf(size_t i) const {
    return in_use->families()[pairs[i].family];
  }
  IndexKey KeyOf(size_t i) const {
    return {positions[i], FamilyOf(i).id, pairs[i].key};
  }
};

Terms Applier::terms() const {
  return {membership_->epoch(), indexed_->reader().stable_time(),
          membership_->purged(), membership_->may_hold_deleted_pairs()};
}

absl::Status Applier::Apply(std::span<const Pair> pairs,
                            const FamilyTable& names, const Sender& sender,
                            const Terms& terms,
                            const std::function<bool()>& cancelled,
                            std::vector<ApplyOutcome>* outcomes) {
  const IndexBuildProgress progress = index_build_->Progress();
  if (!progress.done) return InProgress(progress);
  for (const Pair& pair : pairs) {
    if (pair.family >= names.families().size()) {
      return absl::InvalidArgumentError("a pair of an unknown family");
    }
  }
  bool unindexed = false;
  const Status status = WaitOutStall(
      [&] {
        Batch batch{pairs, names, sender, terms, cancelled, outcomes};
        const Status once = ApplyOnce(&batch);
        unindexed = batch.unindexed;
        return once;
      },
      cancelled);
  // Incomplete: RocksDB would have slowed a write down, or a lock was taken.
  if (status.IsIncomplete()) {
    return absl::UnavailableError(
        "cancelled while it waited for RocksDB, which stalls writes, or for "
        "a lock: " +
        status.ToString());
  }
  if (unindexed) {
    index_build_->NoticeForeignWrites();
    return InProgress(index_build_->Progress());
  }
  if (!status.ok()) return ToAbsl(status);
  held_back_->Count(
      std::count(outcomes->begin(), outcomes->end(), ApplyOutcome::kHeldBack));
  return absl::OkStatus();
}

Status Applier::ApplyOnce(Batch* batch) {
  // A key is written twice: in its pair and in its entry.
  constexpr size_t kEntryBytes = 64;
  size_t bytes = 0;
  size_t batch_bytes = 0;
  for (const Pair& pair : batch->pairs) {
    bytes += pair.key.size() + pair.value.size();
    batch_bytes += 2 * pair.key.size() + pair.value.size() + kEntryBytes;
  }
  batch->written = rocksdb::WriteBatch(batch_bytes);
  const Status room =
      indexed_->space()->Check(indexed_->WallMs(), bytes, /*deletes=*/false);
  if (!room.ok()) return room;
  Place(batch);
  if (batch->sender.replica_id != 0 && batch->terms.epoch > 0) {
    // SetMembers holds the members' lock and then all stripes.
    const Status taken = membership_->RecordSender(
        batch->sender, batch->terms.epoch, batch->latest_of_sender);
    if (!taken.ok()) return taken;
  }
  if (!indexed_->locks()->Lock(batch->stripes, batch->cancelled)) {
    return Status::Incomplete("waiting for writers of the same keys");
  }
  StripeSetGuard guard(indexed_->locks(), batch->stripes, std::adopt_lock);
  batch->in_use = indexed_->families();
  Status status = CheckTerms(batch);
  if (!status.ok()) return status;
  // Under the locks, so that the next write of these keys draws a later
  // version.
  status = indexed_->FollowClock(batch->latest);
  if (!status.ok()) return status;
  status = ReadCurrent(batch);
  if (!status.ok()) return status;
  status = Contend(batch);
  if (!status.ok()) return status;
  if (batch->applied.empty() && batch->releases.empty()) return status;
  return Commit(batch);
}

void Applier::Place(Batch* batch) {
  const uint64_t wall_ms = indexed_->WallMs();
  batch->outcomes->assign(batch->pairs.size(), ApplyOutcome::kSuperseded);
  batch->positions.resize(batch->pairs.size());
  for (size_t i = 0; i < batch->pairs.size(); ++i) {
    const Pair& pair = batch->pairs[i];
    if (TooFarAhead(pair.version, wall_ms,
                    indexed_->options().max_clock_ahead_ms)) {
      (*batch->outcomes)[i] = ApplyOutcome::kHeldBack;
      held_back_->Name(pair.version);
      continue;
    }
    batch->latest = std::max(batch->latest, pair.version.time);
    if (pair.version.replica == batch->sender.replica_id) {
      batch->latest_of_sender =
          std::max(batch->latest_of_sender, pair.version.time);
    }
    batch->positions[i] =
        indexed_->hasher().Position(batch->FamilyOf(i).name, pair.key);
    batch->stripes.Add(StripeOf(batch->positions[i]));
  }
}

Status Applier::CheckTerms(Batch* batch) const {
  // A family may have been dropped meanwhile, and ordinals may have changed.
  if (!batch->in_use->ReplicatesAs(batch->names)) {
    return Status::TryAgain(
        "rocksync: a replicated column family was created or dropped",
        "reconnecting");
  }
  // Nothing is taken from a removed member from the moment that this replica
  // knows of the removal. Also, what the peer sends may have been deleted here
  // since it was asked for, and the tombstone collected.
  if (!batch->terms.StillHold(terms())) {
    return Status::TryAgain(
        "rocksync: the member list, or what is collected, has changed",
        "reconnecting");
  }
  // A foreign write has no version yet, and may be the later one.
  if (!index_build_->AllIsIndexed(batch->cancelled)) {
    // Behind a write that is stalled, the check for foreign writes does not
    // end.
    if (WritesStall(indexed_->db())) return NoSlowdownError();
    batch->unindexed = true;
    return Status::TryAgain();
  }
  return Status::OK();
}

Status Applier::ReadCurrent(Batch* batch) {
  const size_t count = batch->pairs.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto before = [batch](size_t a, size_t b) {
    return InIndexOrder(batch->KeyOf(a), batch->KeyOf(b));
  };
  // Most often they come from peers in this order.
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  std::vector<IndexKey> keys;
  keys.reserve(count);
  for (size_t at = 0; at < count; ++at) {
    keys.push_back(batch->KeyOf(order[at]));
    if (at > 0 && !before(order[at - 1], order[at])) {
      batch->next_of_key[order[at - 1]] = order[at];
    }
  }
  std::vector<std::optional<StoredEntry>> entries;
  const Status status = indexed_->reader().GetAll(keys, &entries);
  if (!status.ok()) return status;
  batch->current.resize(count);
  for (size_t at = 0; at < count; ++at) {
    batch->current[order[at]] = entries[at];
  }
  return status;
}

Status Applier::Contend(Batch* batch) {
  for (size_t i = 0; i < batch->pairs.size(); ++i) {
    if ((*batch->outcomes)[i] != ApplyOutcome::kHeldBack) {
      const Status status = ContendOne(batch, i);
      if (!status.ok()) return status;
    }
    const auto next = batch->next_of_key.find(i);
    if (next != batch->next_of_key.end()) {
      batch->current[next->second] = batch->current[i];
    }
  }
  // The entries come last: the last operation of each batch is one in the
  // index, by which the next opening tells this library's writes from foreign
  // ones.
  for (const auto& [i, entry] : batch->releases) {
    indexed_->PutEntry(&batch->written, batch->KeyOf(i), entry);
  }
  for (const auto& [i, entry, replaced, change] : batch->applied) {
    if (change) {
      indexed_->AppendEntryTo(&batch->written, batch->KeyOf(i), entry);
    } else if (IsCollected(entry, indexed_->reader().stable_time())) {
      indexed_->RemoveEntry(&batch->written, batch->KeyOf(i));
    } else {
      indexed_->PutEntry(&batch->written, batch->KeyOf(i), entry);
    }
  }
  return Status::OK();
}

Status Applier::ContendOne(Batch* batch, size_t i) {
  const Pair& pair = batch->pairs[i];
  const Family& family = batch->HeldFamilyOf(i);
  const IndexKey key = batch->KeyOf(i);
  const bool known = batch->current[i].has_value();
  StoredEntry current = known ? *batch->current[i] : StoredEntry();
  // A collected tombstone is accepted only if it deletes something, and even
  // then it leaves no entry.
  const bool collected = IsCollected(pair.tombstone, pair.version,
                                     indexed_->reader().stable_time());
  Contest contest = collected ? Contest::kLoses : Contest::kWins;
  const bool was_quarantined = known && current.quarantined;
  Status status =
      known ? ContendWith(family, pair, key, &current, &contest) : Status::OK();
  if (!status.ok()) return status;
  const bool released = was_quarantined && !current.quarantined;
  if (contest == Contest::kDeferred) {
    (*batch->outcomes)[i] = ApplyOutcome::kDeferred;
  } else if (contest == Contest::kLoses && released) {
    batch->releases.emplace_back(i, current);
  }
  if (contest != Contest::kWins) return status;
  status = pair.tombstone
               ? batch->written.Delete(family.handle(), pair.key)
               : batch->written.Put(family.handle(), pair.key, pair.value);
  if (!status.ok()) return status;
  if (was_quarantined) {
    ++batch->repaired;
    quarantine_->unreadable()->Forget(family.id, pair.key);
  }
  (*batch->outcomes)[i] = ApplyOutcome::kApplied;
  batch->current[i] = EntryOf(indexed_->hasher(), pair);
  std::optional<Digest> change;
  if (indexed_->digests()->tracking() && !pair.tombstone && !was_quarantined &&
      !current.tombstone) {
    const auto hash = [&](const StoredEntry& entry) {
      return CompleteHash(indexed_->hasher(), family.name, pair.key, entry);
    };
    change.emplace().Add(hash(*batch->current[i]));
    if (known) change->Remove(hash(current));
  }
  batch->applied.push_back({i,
                            *batch->current[i],
                            {known, current.tombstone, current.version},
                            change});
  return status;
}

Status Applier::Commit(Batch* batch) {
  const ReplicatedDBOptions& options = indexed_->options();
  std::vector<AppliedChange> changes;
  if (options.hook != nullptr && !batch->applied.empty()) {
    changes = ListChanges(*batch);
    const CallbackScope scope(indexed_, Callback::kApplyHook);
    options.hook->BeforeApply(changes);
  }
  rocksdb::WriteOptions write = options.apply_write_options;
  write.no_slowdown = true;
  // With no_slowdown RocksDB would not slow a low-priority write down but
  // refuse it, as long as there is anything to be compacted.
  write.low_pri = false;
  const Status status = indexed_->db()->Write(write, &batch->written);
  NoteChanges(*batch, status.ok());
  if (!status.ok()) return status;
  quarantine_->CountRepaired(batch->repaired);
  quarantine_->CountReleased(batch->releases.size());
  if (indexed_->changes()->attached() &&
      indexed_->changes()->passes_on(batch->sender.replica_id)) {
    PassOn(*batch);
  }
  // Checked after the write, so that a feed that began before it misses
  // nothing.
  if (indexed_->feeds()->any()) {
    if (changes.empty()) changes = ListChanges(*batch);
    indexed_->feeds()->Publish(changes, batch->sender.replica_id);
  }
  return status;
}

// After a write that failed the digests have to look, as what it wrote is not
// known.
void Applier::NoteChanges(const Batch& batch, bool written) {
  for (const auto& [i, entry, replaced, change] : batch.applied) {
    if (!change) continue;
    if (written) {
      indexed_->digests()->NoteKnown({batch.positions[i], *change});
    } else {
      indexed_->digests()->Note(batch.positions[i]);
    }
  }
}

std::vector<AppliedChange> Applier::ListChanges(const Batch& batch) {
  std::vector<AppliedChange> changes;
  changes.reserve(batch.applied.size());
  for (const auto& [i, entry, replaced, change] : batch.applied) {
    const Pair& pair = batch.pairs[i];
    changes.push_back({batch.FamilyOf(i).name, pair.key,
                       pair.tombstone ? rocksdb::Slice() : pair.value,
                       pair.tombstone, Public(pair.version), replaced.any,
                       replaced.any && replaced.tombstone,
                       Public(replaced.version)});
  }
  return changes;
}

// Logs the changes for the peers that the sender does not send them to.
void Applier::PassOn(const Batch& batch) {
  std::vector<Change> changes;
  for (const auto& [i, entry, replaced, change] : batch.applied) {
    const Pair& pair = batch.pairs[i];
    changes.push_back({batch.FamilyOf(i).id, pair.key, pair.version,
                       pair.tombstone, pair.value, batch.sender.replica_id});
  }
  indexed_->changes()->Append(changes);
}

Status Applier::ContendWith(const Family& family, const Pair& pair,
                            const IndexKey& key, StoredEntry* stored,
                            Contest* contest) {
  if (stored->quarantined) {
    const Status status =
        ContendWithQuarantined(family, pair, key, stored, contest);
    if (!status.ok() || stored->quarantined) return status;
  }
  switch (CompareVersions(pair.version, stored->version)) {
    case VersionOrder::kNewer:
      *contest = Contest::kWins;
      return Status::OK();
    case VersionOrder::kOlder:
      *contest = Contest::kLoses;
      return Status::OK();
    case VersionOrder::kEqualVersions:
      break;
  }
  return ContendWithItsVersion(family, pair, key, *stored, contest);
}

// A quarantined pair loses against everything. But before it is overwritten it
// is read again, and released if it matches. Corruption may be temporary: until
// it has lasted, only a pair that is not older replaces this one.
Status Applier::ContendWithQuarantined(const Family& family, const Pair& pair,
                                       const IndexKey& key, StoredEntry* stored,
                                       Contest* contest) {
  const VersionOrder order = CompareVersions(pair.version, stored->version);
  *contest = Contest::kWins;
  if (SaysAnything(*stored) && order == VersionOrder::kNewer) {
    return Status::OK();
  }
  Examination found;
  const Status status = Examine(indexed_->reader(), family, key, &found);
  if (!status.ok()) return status;
  const auto has_persisted = [&] {
    return quarantine_->unreadable()->NoteAndCheckPersisted(family.id, pair.key,
                                                            indexed_->WallMs());
  };
  switch (found.verdict) {
    case Examination::Verdict::kMatches:
      *stored = found.entry;
      stored->quarantined = false;
      break;
    case Examination::Verdict::kUnreadable:
      if (order == VersionOrder::kOlder && !has_persisted()) {
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

// Reads the stored pair only if it would stay unless it is damaged.
Status Applier::ContendWithItsVersion(const Family& family, const Pair& pair,
                                      const IndexKey& key,
                                      const StoredEntry& stored,
                                      Contest* contest) const {
  const auto hash_of = [&](const StoredEntry& entry) {
    return CompleteHash(indexed_->hasher(), family.name, pair.key, entry);
  };
  const Contender theirs{pair.version, pair.tombstone,
                         hash_of(EntryOf(indexed_->hasher(), pair))};
  const Contender ours{stored.version, stored.tombstone, hash_of(stored)};
  const AtOneVersion outcome = ContendAtOneVersion(theirs, ours);
  *contest =
      outcome == AtOneVersion::kTheirs ? Contest::kWins : Contest::kLoses;
  // A pending entry may be of this very batch; its pair cannot be read yet.
  if (outcome != AtOneVersion::kStoredIfIntact || stored.pending) {
    return Status::OK();
  }
  Examination found;
  if (Examine(indexed_->reader(), family, key, &found).ok() &&
      found.verdict == Examination::Verdict::kDiffers) {
    *contest = Contest::kWins;  // our pair is corrupt
  }
  return Status::OK();  // a pair that cannot be read is not known to be
}

}  // namespace rocksync

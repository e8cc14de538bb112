#include "replication/store/store.h"

#include <algorithm>
#include <utility>

#include "replication/store/adoption.h"
#include "replication/store/batch_rewriter.h"
#include "replication/store/index_key.h"
#include "replication/store/membership.h"
#include "replication/store/refusals.h"
#include "replication/store/tombstone_sweep.h"
#include "replication/store/write_plan.h"
#include "rocksdb/env.h"
#include "rocksync/limits.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;

// Each thread's own, so that a write allocates nothing.
rocksdb::WriteBatch* ScratchBatch() {
  thread_local rocksdb::WriteBatch batch;
  batch.Clear();
  return &batch;
}

}  // namespace

Store::Store(const ReplicatedDBOptions& options, Opened opened)
    : options_(options),
      hasher_(std::move(opened.hasher)),
      memtable_(std::move(opened.memtable)),
      completion_(std::move(opened.completion)),
      identity_(std::move(opened.identity)),
      past_(std::move(opened.past)),
      place_(std::move(opened.place)),
      marker_(std::move(opened.marker)),
      counted_(opened.db, std::move(opened.log)),
      reader_(&counted_, opened.index, hasher_.get(), identity_.home_id),
      first_clock_(opened.lease),
      clock_(opened.lease),
      lease_(&counted_, opened.index, opened.lease, &clock_),
      digests_(&reader_, &locks_,
               [this](const std::function<bool()>& cancelled) {
                 return foreign_.Look(cancelled) ==
                        ForeignWrites::Finding::kNone;
               }),
      space_(&counted_, std::move(opened.directories), options.min_free_bytes),
      family_records_(std::move(opened.family_records)),
      foreign_(&counted_, std::move(opened.files)),
      adoption_(std::make_unique<Adoption>(this, std::move(opened.work),
                                           std::move(opened.foreign))),
      sweep_(std::make_unique<TombstoneSweep>(this, opened.swept)),
      membership_(std::make_unique<Membership>(this, opened.gc,
                                               [this] { sweep_->Wake(); })) {
  reader_.SetStableTime(opened.gc.stable_time);
  tables_.push_back(std::make_unique<const FamilyTable>(
      std::move(opened.families), std::move(opened.other_families)));
  reader_.SetFamilies(tables_.back().get());
  completion_->Start(*tables_.back(), identity_.home_id);
  if (opened.leaves != nullptr) {
    digests_.Trust(std::move(*opened.leaves), std::move(opened.tombstones),
                   std::move(opened.quarantined));
  }
}

Store::~Store() = default;

void Store::Start(bool timers) {
  if (timers) lease_.Start();
  files()->Start(&reader_, &counted_, [this] {
    // In a call from RocksDB: whoever holds a lock may wait for its thread.
    if (!DealWithForeignWrites(/*may_wait=*/false).ok()) adoption_->Wake();
  });
  adoption_->Start();
  if (timers) sweep_->Start();
}

Status Store::SweepCollected() { return sweep_->SweepHere(); }

uint64_t Store::WallMs() const { return db()->GetEnv()->NowMicros() / 1000; }

Status Store::DrawVersion(Version* version) {
  version->time = clock_.Next(WallMs());
  version->replica = identity_.replica_id;
  return lease_.Cover(version->time);
}

Status Store::FollowClock(uint64_t reading) {
  clock_.Observe(reading);
  return lease_.Cover(reading);
}

void Store::PutEntry(rocksdb::WriteBatch* batch, const IndexKey& key,
                     const StoredEntry& entry) const {
  // No peer could hold such a pair from here, and its tombstone could not go
  // there: it would only keep two replicas from being equal.
  if (entry.tombstone && key.key.size() > kMostKeyBytes) {
    RemoveEntry(batch, key);
    return;
  }
  thread_local std::string index_key;
  thread_local std::string index_value;
  index_key.clear();
  index_value.clear();
  AppendIndexKey(&index_key, key);
  AppendEntry(&index_value, entry, identity_.home_id);
  batch->Put(reader_.index(), index_key, index_value).PermitUncheckedError();
}

void Store::RemoveEntry(rocksdb::WriteBatch* batch, const IndexKey& key) const {
  std::string index_key;
  AppendIndexKey(&index_key, key);
  batch->Delete(reader_.index(), index_key).PermitUncheckedError();
}

Status Store::RefuseOptions(const WriteOptions& options) const {
  if (!options.disableWAL) return Status::OK();
  return Status::NotSupported(
      "rocksync: WriteOptions::disableWAL on a replicated family",
      "a crash could keep data and lose its index; leave the WAL on, or keep "
      "the family out of ReplicatedDBOptions::families");
}

Status Store::WriteOne(const WriteOptions& options, ColumnFamilyHandle* handle,
                       const Slice& key, const Slice* value) {
  if (closed_) return CheckOpen();  // RocksDB's default handle is gone, too
  const Family* const family = table().Find(handle->GetID());
  if (family == nullptr) {
    const Status known = CheckKnown(handle);
    if (!known.ok()) return known;
    return value != nullptr ? db()->Put(options, handle, key, *value)
                            : db()->Delete(options, handle, key);
  }
  Status status = RefuseOptions(options);
  if (status.ok() && value != nullptr) {
    status = CheckSizes(options_, family->name, key, value->size());
  }
  if (status.ok()) {
    const size_t bytes = key.size() + (value != nullptr ? value->size() : 0);
    status = space_.Check(WallMs(), bytes, /*deletes=*/value == nullptr);
  }
  if (!status.ok()) return status;

  const uint64_t position = hasher_->Position(family->name, key.ToStringView());
  memtable_->FetchBucket(position);
  rocksdb::WriteBatch* const batch = ScratchBatch();
  StoredEntry entry;
  if (value != nullptr) {
    status = batch->Put(handle, key, *value);
    const std::string_view view = value->ToStringView();
    entry = IssuedEntry({}, &view);
  } else {
    status = batch->Delete(handle, key);
    entry = IssuedEntry({}, nullptr);
  }
  if (!status.ok()) return status;

  StripeGuard guard(&locks_, StripeOf(position));
  status = DrawVersion(&entry.version);
  if (!status.ok()) return status;
  PutEntry(batch, {position, family->id, key.ToStringView()}, entry);
  digests_.Note(position);
  memtable_->FetchNode(position);
  return db()->Write(options, batch);
}

Status Store::WriteMany(const WriteOptions& options,
                        rocksdb::WriteBatch* batch) {
  if (batch == nullptr) return Status::Corruption("Batch is nullptr!");
  PlannedBatch plan;
  Status status = PlanBatch(options_, *batch, table(), *hasher_, &plan);
  if (!status.ok()) return status;
  // Of one that is closed all families are unknown.
  if (plan.has_unknown) status = CheckOpen();
  if (!status.ok()) return status;
  if (plan.has_unknown) {
    if (!options.ignore_missing_column_families) {
      return Status::InvalidArgument(
          "rocksync: a batch names a column family that was dropped, or that "
          "was not created by ReplicatedDB",
          "create families with ReplicatedDB::CreateColumnFamily, or open the "
          "database anew");
    }
    plan.verbatim = false;
  } else if (plan.operations.empty()) {
    return db()->Write(options, batch);
  }
  if (!plan.operations.empty()) status = RefuseOptions(options);
  if (status.ok() && !plan.operations.empty()) {
    const bool deletes = std::all_of(
        plan.operations.begin(), plan.operations.end(),
        [](const PlannedOperation& operation) {
          return operation.kind == PlannedOperation::Kind::kDelete ||
                 operation.kind == PlannedOperation::Kind::kDeleteRange;
        });
    status = space_.Check(WallMs(), batch->GetDataSize(), deletes);
  }
  if (!status.ok()) return status;
  if (!batch->GetWalTerminationPoint().is_cleared()) {
    return Status::NotSupported(
        "rocksync: a WAL termination point in a batch on a replicated family");
  }
  if (plan.has_range) {
    AllStripesGuard guard(&locks_);
    return CommitPlanned(options, *batch, plan);
  }
  StripeSetGuard guard(&locks_, plan.stripes);
  return CommitPlanned(options, *batch, plan);
}

// REQUIRES: the plan's stripes are held.
Status Store::CommitPlanned(const WriteOptions& options,
                            const rocksdb::WriteBatch& batch,
                            const PlannedBatch& plan) {
  Version version;
  Status status = DrawVersion(&version);
  if (!status.ok()) return status;

  if (plan.verbatim) {
    // From the bytes: a copy would inherit the batch's limit of bytes.
    rocksdb::WriteBatch written(batch.Data());
    for (const PlannedOperation& operation : plan.operations) {
      memtable_->FetchBucket(operation.position);
      const std::string_view value = operation.value.ToStringView();
      PutEntry(
          &written,
          {operation.position, operation.family->id,
           operation.key.ToStringView()},
          IssuedEntry(version, operation.kind == PlannedOperation::Kind::kPut
                                   ? &value
                                   : nullptr));
      digests_.Note(operation.position);
    }
    for (const PlannedOperation& operation : plan.operations) {
      memtable_->FetchNode(operation.position);
    }
    return db()->Write(options, &written);
  }

  rocksdb::WriteBatch written;
  struct Change {
    uint64_t position;
    uint32_t family_id;
    std::string key;
    StoredEntry entry;
  };
  std::vector<Change> changes;
  BatchRewriter rewriter(
      db(), table(), options_, &written,
      [&](const Family& family, std::string_view key,
          const std::string_view* value) {
        changes.push_back({hasher_->Position(family.name, key), family.id,
                           std::string(key), IssuedEntry(version, value)});
      },
      /*skip_unknown=*/plan.has_unknown);
  status = batch.Iterate(&rewriter);
  if (!status.ok()) return status;
  for (const Change& change : changes) {
    PutEntry(&written, {change.position, change.family_id, change.key},
             change.entry);
    digests_.Note(change.position);
  }
  return db()->Write(options, &written);
}

Status Store::DeleteRangeInChunks(const WriteOptions& options,
                                  ColumnFamilyHandle* handle,
                                  const Slice& begin, const Slice& end,
                                  uint64_t* deleted) {
  if (deleted != nullptr) *deleted = 0;
  std::string from = begin.ToString();
  bool more = true;
  while (more) {
    rocksdb::WriteBatch batch;
    uint64_t count = 0;
    std::string last;
    // Deleting a key that somebody deletes or puts meanwhile does no harm:
    // each chunk is a write of its own.
    Status status = ForEachKeyInRange(
        db(), handle, from, end, options_.max_delete_range_keys, &more,
        [&](const Slice& key) {
          batch.Delete(handle, key).PermitUncheckedError();
          last = key.ToString();
          ++count;
        });
    if (!status.ok()) return status;
    if (count == 0) break;
    status = WriteMany(options, &batch);
    if (!status.ok()) return status;
    if (deleted != nullptr) *deleted += count;
    from = last;
  }
  return Status::OK();
}

AdoptionProgress Store::adoption_progress() const {
  return adoption_->Progress();
}

Status Store::WaitForAdoption(uint64_t timeout_ms) const {
  return adoption_->Wait(timeout_ms);
}

TombstoneGcStats Store::tombstone_gc_stats() const {
  const GcState now = membership_->Now();
  TombstoneGcStats stats;
  stats.epoch = now.list.epoch;
  stats.stable_ms = now.stable_time >> 16;
  stats.unproven = now.unproven;
  stats.tombstones = digests_.tombstones();
  stats.removed = sweep_->removed();
  stats.sweeping = !sweep_->done();
  if (stats.tombstones > 0) {
    stats.held_up_by = HeldUpBy(now, identity_.replica_id);
  }
  stats.identity_conflict = membership_->identity_conflict();
  for (size_t i = 0; i < now.list.members.size(); ++i) {
    stats.members.push_back({now.list.members[i].replica_id,
                             now.list.members[i].since, now.summary[i] >> 16,
                             now.acknowledged[i] >> 16});
  }
  return stats;
}

void Store::Count(PairCheck::Finding finding) {
  switch (finding) {
    case PairCheck::Finding::kMarked:
      CountQuarantined();
      break;
    case PairCheck::Finding::kReleased:
      ++released_pairs_;
      break;
    case PairCheck::Finding::kRepaired:
      ++repaired_entries_;
      break;
    case PairCheck::Finding::kRemoved:
      ++removed_entries_;
      break;
    case PairCheck::Finding::kFine:
    case PairCheck::Finding::kDeletedAgain:
      break;
  }
}

IndexStats Store::stats() const {
  IndexStats stats;
  stats.pairs_quarantined = pairs_quarantined_;
  stats.quarantined_now = digests_.quarantined();
  stats.repaired_pairs = repaired_pairs_;
  stats.released_pairs = released_pairs_;
  stats.wrong_digests = wrong_digests_;
  stats.repaired_entries = repaired_entries_;
  stats.removed_entries = removed_entries_;
  stats.held_back_pairs = held_back_pairs_;
  stats.held_back_replica = held_back_replica_;
  stats.oversized_pairs = oversized_pairs_;
  stats.digest_rescans = digests_.rescans();
  stats.digest_entries_read = digests_.entries_read();
  stats.foreign_changes = foreign_.noticed();
  return stats;
}

}  // namespace rocksync

#include "replication/store/write/writer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/base/write_batch_format.h"
#include "replication/store/write/batch_rewriter.h"
#include "replication/store/write/callback_scope.h"
#include "replication/store/write/last_changes.h"
#include "replication/store/write/refusals.h"
#include "replication/store/write/write_plan.h"
#include "replication/store/write/write_stall.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;

// Returns the thread's own batch, so that a write allocates nothing.
rocksdb::WriteBatch* ScratchBatch() {
  thread_local rocksdb::WriteBatch batch;
  batch.Clear();
  return &batch;
}

bool OnlyDeletes(const PlannedBatch& plan) {
  return std::all_of(
      plan.operations.begin(), plan.operations.end(),
      [](const PlannedOperation& operation) {
        return operation.kind == PlannedOperation::Kind::kDelete ||
               operation.kind == PlannedOperation::Kind::kDeleteRange;
      });
}

// Whether the batch is one Put or Delete and nothing else, not even a record
// that is only logged.
bool IsOneOperation(const rocksdb::WriteBatch& batch,
                    const PlannedBatch& plan) {
  if (!plan.verbatim || plan.operations.size() != 1) return false;
  const PlannedOperation& only = plan.operations.front();
  const bool put = only.kind == PlannedOperation::Kind::kPut;
  return batch.GetDataSize() ==
         BytesOfOneOperation(
             only.family_id, only.key.size(),
             put ? std::optional(only.value.size()) : std::nullopt);
}

template <typename Write>
Status WithStripe(StripeLocks* locks, size_t stripe,
                  const std::function<bool()>& gives_up, const Write& write) {
  if (!gives_up) {
    const StripeGuard guard(locks, stripe);
    return write();
  }
  const PatientGuard guard(locks, stripe, gives_up);
  return guard.held() ? write() : NoSlowdownError();
}

}  // namespace

Status Writer::WriteOne(const WriteOptions& options, ColumnFamilyHandle* handle,
                        const Slice& key, const Slice* value) {
  // Checked first: once the database is closed, RocksDB's default handle is
  // gone.
  Status open = indexed_->CheckOpen();
  if (!open.ok()) return open;
  FamiliesInUse now = indexed_->families();
  const Family* const family = families_->Find(*now, handle);
  if (family == nullptr) {
    now = {};  // see CommitOne
    const Status known = families_->CheckKnown(handle);
    if (!known.ok()) return known;
    return value != nullptr ? indexed_->db()->Put(options, handle, key, *value)
                            : indexed_->db()->Delete(options, handle, key);
  }
  Status status = CheckNotInCallback(indexed_);
  if (status.ok()) status = CheckWriteOptions(options);
  if (status.ok() && value != nullptr) {
    status = CheckSizes(indexed_->options(), family->name, key, value->size());
  }
  const uint64_t wall_ms = indexed_->WallMs();
  if (status.ok()) {
    const size_t bytes = key.size() + (value != nullptr ? value->size() : 0);
    status = indexed_->space()->Check(wall_ms, bytes,
                                      /*deletes=*/value == nullptr);
  }
  if (!status.ok()) return status;
  const uint64_t position =
      indexed_->hasher().Position(family->name, key.ToStringView());
  const uint32_t id = family->id;
  return CommitOne(options, wall_ms, std::move(now), handle, id, position, key,
                   value);
}

// Commits one operation. No table of families is in use while a write waits for
// a lock or in RocksDB: the table would keep the memtables of families that are
// dropped meanwhile, and if these fill a write buffer budget, that would stall
// the write permanently. With stripes held a table may be in use, as no drop
// can end.
Status Writer::CommitOne(const WriteOptions& options, uint64_t wall_ms,
                         FamiliesInUse in_use, ColumnFamilyHandle* handle,
                         uint32_t family_id, uint64_t position,
                         const Slice& key, const Slice* value) {
  indexed_->memtable().FetchBucket(position);
  rocksdb::WriteBatch* const batch = ScratchBatch();
  StoredEntry entry;
  Status status;
  if (value != nullptr) {
    status = batch->Put(handle, key, *value);
    const std::string_view view = value->ToStringView();
    entry = IssuedEntry({}, &view);
  } else {
    status = batch->Delete(handle, key);
    entry = IssuedEntry({}, nullptr);
  }
  if (!status.ok()) return status;
  in_use = {};

  // The version is drawn under the lock, so that versions of a key and their
  // commits come in the same order.
  const auto gives_up = NoSlowdownDeadline(indexed_->db(), options);
  status = WithStripe(indexed_->locks(), StripeOf(position), gives_up, [&] {
    const Status drawn =
        indexed_->DrawVersion(wall_ms, &entry.version, gives_up);
    if (!drawn.ok()) return drawn;
    // The application may drop the family at the same time; RocksDB would then
    // stop.
    if (!indexed_->reader().IsReplicated(family_id)) return FamilyIsGone();
    indexed_->PutEntry(batch, {position, family_id, key.ToStringView()}, entry);
    indexed_->memtable().FetchNode(position);
    return indexed_->db()->Write(options, batch);
  });
  if (status.ok() && indexed_->changes()->attached()) {
    const Change change{
        family_id, key.ToStringView(), entry.version, value == nullptr,
        value == nullptr ? std::string_view() : value->ToStringView()};
    indexed_->changes()->Append({&change, 1});
  }
  return status;
}

Status Writer::WriteMany(const WriteOptions& options,
                         rocksdb::WriteBatch* batch) {
  // As RocksDB says it.
  if (batch == nullptr) return Status::Corruption("Batch is nullptr!");
  Status status = indexed_->CheckOpen();
  FamiliesInUse now = indexed_->families();
  PlannedBatch plan;
  if (status.ok()) {
    status =
        PlanBatch(indexed_->options(), *batch, *now, indexed_->hasher(), &plan);
  }
  if (!status.ok()) return status;
  if (plan.operations.empty() && !plan.has_unknown) {
    now = {};  // see CommitOne
    return indexed_->db()->Write(options, batch);
  }
  const uint64_t wall_ms = indexed_->WallMs();
  status = CheckBatch(options, wall_ms, *batch, &plan);
  if (!status.ok()) return status;
  // Most applications write batches of one operation.
  if (IsOneOperation(*batch, plan)) {
    const PlannedOperation& only = plan.operations.front();
    const bool put = only.kind == PlannedOperation::Kind::kPut;
    ColumnFamilyHandle* const handle = now->Find(only.family_id)->handle();
    return CommitOne(options, wall_ms, std::move(now), handle, only.family_id,
                     only.position, only.key, put ? &only.value : nullptr);
  }
  now = {};
  const auto gives_up = NoSlowdownDeadline(indexed_->db(), options);
  if (plan.has_range) {
    // The keys that it deletes are known only while nobody writes.
    const PatientGuard all(indexed_->locks(), gives_up);
    return all.held() ? CommitPlanned(options, gives_up, wall_ms, *batch, plan)
                      : NoSlowdownError();
  }
  const PatientGuard guard(indexed_->locks(), plan.stripes, gives_up);
  return guard.held() ? CommitPlanned(options, gives_up, wall_ms, *batch, plan)
                      : NoSlowdownError();
}

Status Writer::CheckBatch(const WriteOptions& options, uint64_t wall_ms,
                          const rocksdb::WriteBatch& batch,
                          PlannedBatch* plan) {
  if (plan->has_unknown) {
    if (!options.ignore_missing_column_families) {
      return Status::InvalidArgument(
          "rocksync: a batch names a column family that was dropped, or that "
          "was not created by ReplicatedDB",
          "create families with ReplicatedDB::CreateColumnFamily, or open the "
          "database anew");
    }
    plan->verbatim = false;
  }
  Status status;
  if (!plan->operations.empty()) {
    status = CheckNotInCallback(indexed_);
    if (status.ok()) status = CheckWriteOptions(options);
    if (status.ok()) {
      status = indexed_->space()->Check(wall_ms, batch.GetDataSize(),
                                        OnlyDeletes(*plan));
    }
  }
  if (status.ok() && !batch.GetWalTerminationPoint().is_cleared()) {
    status = Status::NotSupported(
        "rocksync: a WAL termination point in a batch on a replicated family",
        "build the batch without MarkWalTerminationPoint");
  }
  return status;
}

Status Writer::CommitPlanned(const WriteOptions& options,
                             const std::function<bool()>& gives_up,
                             uint64_t wall_ms, const rocksdb::WriteBatch& batch,
                             const PlannedBatch& plan) {
  Version version;
  const Status status = indexed_->DrawVersion(wall_ms, &version, gives_up);
  if (!status.ok()) return status;
  // The plan was made before the stripes were held.
  for (const PlannedOperation& operation : plan.operations) {
    if (!indexed_->reader().IsReplicated(operation.family_id)) {
      return FamilyIsGone();
    }
  }
  return plan.verbatim ? CommitVerbatim(options, batch, plan, version)
                       : CommitRewritten(options, batch, plan, version);
}

Status Writer::CommitVerbatim(const WriteOptions& options,
                              const rocksdb::WriteBatch& batch,
                              const PlannedBatch& plan,
                              const Version& version) {
  // Made from the bytes: a copy would inherit the batch's limit of bytes.
  rocksdb::WriteBatch written(batch.Data());
  for (const PlannedOperation& operation : plan.operations) {
    indexed_->memtable().FetchBucket(operation.position);
    const std::string_view value = operation.value.ToStringView();
    indexed_->PutEntry(
        &written,
        {operation.position, operation.family_id, operation.key.ToStringView()},
        IssuedEntry(version, operation.kind == PlannedOperation::Kind::kPut
                                 ? &value
                                 : nullptr));
  }
  for (const PlannedOperation& operation : plan.operations) {
    indexed_->memtable().FetchNode(operation.position);
  }
  const Status status = indexed_->db()->Write(options, &written);
  if (!status.ok() || !indexed_->changes()->attached()) return status;
  LastChanges changes;
  for (const PlannedOperation& operation : plan.operations) {
    const bool put = operation.kind == PlannedOperation::Kind::kPut;
    changes.Add(operation.position,
                {operation.family_id, operation.key.ToStringView(), version,
                 !put, put ? operation.value.ToStringView() : ""});
  }
  indexed_->changes()->Append(changes.Take());
  return status;
}

Status Writer::CommitRewritten(const WriteOptions& options,
                               const rocksdb::WriteBatch& batch,
                               const PlannedBatch& plan,
                               const Version& version) {
  rocksdb::WriteBatch written;
  struct Rewritten {
    uint64_t position;
    uint32_t family_id;
    std::string key;
    StoredEntry entry;
    std::string value;  // if it is to be logged
  };
  // A stream that attaches itself from here on takes a snapshot after this
  // write.
  const bool logged = indexed_->changes()->attached();
  std::vector<Rewritten> changes;
  const FamiliesInUse now = indexed_->families();
  BatchRewriter rewriter(
      indexed_->db(), *now, indexed_->options(), &written,
      [&](const Family& family, std::string_view key,
          const std::string_view* value) {
        changes.push_back(
            {indexed_->hasher().Position(family.name, key), family.id,
             std::string(key), IssuedEntry(version, value),
             std::string(logged && value != nullptr ? *value
                                                    : std::string_view())});
      },
      /*skip_unknown=*/plan.has_unknown);
  Status status = batch.Iterate(&rewriter);
  if (!status.ok()) return status;
  for (const Rewritten& change : changes) {
    indexed_->PutEntry(&written,
                       {change.position, change.family_id, change.key},
                       change.entry);
  }
  status = indexed_->db()->Write(options, &written);
  if (!status.ok() || !logged) return status;
  LastChanges last;
  for (const Rewritten& change : changes) {
    last.Add(change.position, {change.family_id, change.key, version,
                               change.entry.tombstone, change.value});
  }
  indexed_->changes()->Append(last.Take());
  return status;
}

Status Writer::WriteLocked(const WriteOptions& options,
                           const rocksdb::WriteBatch& batch) {
  const FamiliesInUse now = indexed_->families();
  PlannedBatch plan;
  Status status =
      PlanBatch(indexed_->options(), batch, *now, indexed_->hasher(), &plan);
  const uint64_t wall_ms = indexed_->WallMs();
  if (status.ok()) status = CheckBatch(options, wall_ms, batch, &plan);
  if (!status.ok()) return status;
  const auto gives_up = NoSlowdownDeadline(indexed_->db(), options);
  return CommitPlanned(options, gives_up, wall_ms, batch, plan);
}

}  // namespace rocksync

#include "replication/store/write/writer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/base/forked.h"
#include "replication/session/escape_text.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/write/batch_rewriter.h"
#include "replication/store/write/callback_scope.h"
#include "replication/store/write/patience.h"
#include "replication/store/write/refusals.h"
#include "replication/store/write/write_plan.h"

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

Status RefuseOptions(const WriteOptions& options) {
  if (!options.disableWAL) return Status::OK();
  return Status::NotSupported(
      "rocksync: WriteOptions::disableWAL on a replicated family",
      "a crash could keep data and lose its index; leave the WAL on, or keep "
      "the family out of ReplicatedDBOptions::families");
}

Status FamilyIsGone() {
  return Status::InvalidArgument(
      "rocksync: a column family was dropped while a write to it waited",
      "write to a family before it is dropped, or not at all");
}

bool OnlyDeletes(const PlannedBatch& plan) {
  return std::all_of(
      plan.operations.begin(), plan.operations.end(),
      [](const PlannedOperation& operation) {
        return operation.kind == PlannedOperation::Kind::kDelete ||
               operation.kind == PlannedOperation::Kind::kDeleteRange;
      });
}

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Whether the batch is one Put or Delete and nothing else, not even a record
// that is only logged: by its length in RocksDB's format (write_batch.cc), a
// header of 12 bytes and a record of a tag, the family's id unless it is 0, the
// key and the value.
bool IsOneOperation(const rocksdb::WriteBatch& batch,
                    const PlannedBatch& plan) {
  if (!plan.verbatim || plan.operations.size() != 1) return false;
  constexpr size_t kHeaderAndTag = 12 + 1;
  const PlannedOperation& only = plan.operations.front();
  size_t bytes = kHeaderAndTag + VarintBytes(only.key.size()) + only.key.size();
  if (only.family_id != 0) bytes += VarintBytes(only.family_id);
  if (only.kind == PlannedOperation::Kind::kPut) {
    bytes += VarintBytes(only.value.size()) + only.value.size();
  }
  return batch.GetDataSize() == bytes;
}

// The changes of one batch: of a key that it changes several times, at one
// version, the last one alone. The others are no pairs that a replica may hold.
class LastChanges {
 public:
  void Add(uint64_t position, const Change& change) {
    order_.emplace_back(position, changes_.size());
    changes_.push_back(change);
  }

  std::vector<Change> Take() {
    std::sort(order_.begin(), order_.end());
    std::vector<Change> last;
    last.reserve(changes_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!ChangedAgain(i)) last.push_back(changes_[order_[i].second]);
    }
    return last;
  }

 private:
  // Those of one key have one position, and are in the order of the batch.
  bool ChangedAgain(size_t i) const {
    const Change& change = changes_[order_[i].second];
    for (size_t j = i + 1; j < order_.size(); ++j) {
      if (order_[j].first != order_[i].first) return false;
      const Change& later = changes_[order_[j].second];
      if (later.family_id == change.family_id && later.key == change.key) {
        return true;
      }
    }
    return false;
  }

  std::vector<Change> changes_;
  std::vector<std::pair<uint64_t, size_t>> order_;  // position, number
};

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
  // Of one that is closed RocksDB's default handle is gone, too.
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
  if (status.ok()) status = RefuseOptions(options);
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

// No table of families is in use while a write waits for a lock or in RocksDB:
// it would keep the memtables of families that are dropped meanwhile, and a
// write buffer budget that these fill would stall the write for good. With
// stripes held a table may be, as no drop can end then.
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

  // The version is drawn under the lock: versions of a key and their commits
  // come in the same order.
  const auto gives_up = NoSlowdownDeadline(indexed_->db(), options);
  status = WithStripe(indexed_->locks(), StripeOf(position), gives_up, [&] {
    const Status drawn =
        indexed_->DrawVersion(wall_ms, &entry.version, gives_up);
    if (!drawn.ok()) return drawn;
    // A drop that the application does not wait for; RocksDB would stop.
    if (!indexed_->reader().IsReplicated(family_id)) return FamilyIsGone();
    indexed_->PutEntry(batch, {position, family_id, key.ToStringView()}, entry);
    indexed_->digests()->Note(position);
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
  // What most applications write: a batch of one.
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
    // Which keys it deletes is known only once nobody writes.
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
    if (status.ok()) status = RefuseOptions(options);
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
  // Planned before the stripes were held.
  for (const PlannedOperation& operation : plan.operations) {
    if (operation.kind != PlannedOperation::Kind::kOther &&
        !indexed_->reader().IsReplicated(operation.family_id)) {
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
  // From the bytes: a copy would inherit the batch's limit of bytes.
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
    indexed_->digests()->Note(operation.position);
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
  // Who attaches itself from here on takes a snapshot after this write.
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
    indexed_->digests()->Note(change.position);
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

Status Writer::DeleteRangeInChunks(const WriteOptions& options,
                                   ColumnFamilyHandle* handle,
                                   const Slice& begin, const Slice& end,
                                   uint64_t* deleted) {
  if (deleted != nullptr) *deleted = 0;
  for (const Slice& bound : {begin, end}) {
    if (bound.size() <= UINT32_MAX) continue;
    return Status::InvalidArgument("rocksync: a bound of " +
                                   std::to_string(bound.size()) +
                                   " bytes, and no key is as long");
  }
  // An iterator on a family that was dropped finds nothing to delete.
  Status status = families_->CheckKnown(handle);
  if (!status.ok()) return status;
  std::string from = begin.ToString();
  bool more = true;
  while (more) {
    rocksdb::WriteBatch batch;
    uint64_t count = 0;
    std::string last;
    // Deleting a key that somebody deletes or puts meanwhile does no harm:
    // each chunk is a write of its own.
    status =
        ForEachKeyInRange(indexed_->db(), handle, from, end,
                          indexed_->options().max_delete_range_keys, &more,
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

Status Writer::Update(const WriteOptions& options,
                      const std::vector<UpdatedKey>& keys,
                      const UpdateFunction& change) {
  Status status = indexed_->CheckOpen();
  if (status.ok()) status = CheckNotInCallback(indexed_);
  if (status.ok()) status = RefuseOptions(options);
  StripeSet stripes;
  if (status.ok()) status = FindPlaces(keys, &stripes);
  if (!status.ok()) return status;
  const PatientGuard guard(indexed_->locks(), stripes,
                           NoSlowdownDeadline(indexed_->db(), options));
  if (!guard.held()) return NoSlowdownError();
  std::vector<std::optional<std::string>> before;
  status = ReadBefore(keys, &before);
  if (!status.ok()) return status;
  std::vector<std::optional<std::string>> after = before;
  {
    const CallbackScope scope(indexed_, Callback::kUpdate);
    status = change(&after);
  }
  // It may have called fork, and this be the child.
  if (status.ok()) status = CheckMayWriteHere();
  if (!status.ok()) return status;
  if (after.size() != keys.size()) {
    return Status::InvalidArgument(
        "rocksync: the function that Update calls altered how many values "
        "there are");
  }
  return WriteChanged(options, keys, before, after);
}

Status Writer::FindPlaces(const std::vector<UpdatedKey>& keys,
                          StripeSet* stripes) const {
  std::set<std::pair<uint32_t, std::string>> distinct;
  const FamiliesInUse now = indexed_->families();
  for (const UpdatedKey& updated : keys) {
    const Family* const family = families_->Find(*now, updated.family);
    if (family == nullptr) {
      const Status known = families_->CheckKnown(updated.family);
      return !known.ok() ? known
                         : Status::NotSupported(
                               "rocksync: Update on the column family " +
                                   EscapeText(updated.family->GetName()) +
                                   ", which is not replicated",
                               "nothing locks its keys; use a mutex");
    }
    // Before the key is copied, whatever its size is said to be.
    const Status fits =
        CheckSizes(indexed_->options(), family->name, updated.key, 0);
    if (!fits.ok()) return fits;
    if (!distinct.insert({family->id, updated.key.ToString()}).second) {
      return Status::InvalidArgument(
          "rocksync: Update names a key twice",
          family->name + " 0x" + updated.key.ToString(true));
    }
    stripes->Add(StripeOf(
        indexed_->hasher().Position(family->name, updated.key.ToStringView())));
  }
  return Status::OK();
}

Status Writer::ReadBefore(
    const std::vector<UpdatedKey>& keys,
    std::vector<std::optional<std::string>>* before) const {
  before->resize(keys.size());
  const FamiliesInUse now = indexed_->families();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Family* const family = families_->Find(*now, keys[i].family);
    if (family == nullptr) return FamilyIsGone();
    std::string value;
    const Status status = GetPlain(indexed_->db(), rocksdb::ReadOptions(),
                                   *family, keys[i].key.ToStringView(), &value);
    if (status.ok()) (*before)[i] = std::move(value);
    if (!status.ok() && !status.IsNotFound()) return status;
  }
  return Status::OK();
}

Status Writer::WriteChanged(
    const WriteOptions& options, const std::vector<UpdatedKey>& keys,
    const std::vector<std::optional<std::string>>& before,
    const std::vector<std::optional<std::string>>& after) {
  rocksdb::WriteBatch batch;
  Status status;
  for (size_t i = 0; i < keys.size() && status.ok(); ++i) {
    if (after[i] == before[i]) continue;
    status = after[i].has_value()
                 ? batch.Put(keys[i].family, keys[i].key, *after[i])
                 : batch.Delete(keys[i].family, keys[i].key);
  }
  if (!status.ok() || batch.Count() == 0) return status;
  const FamiliesInUse now = indexed_->families();
  PlannedBatch plan;
  status =
      PlanBatch(indexed_->options(), batch, *now, indexed_->hasher(), &plan);
  const uint64_t wall_ms = indexed_->WallMs();
  if (status.ok()) status = CheckBatch(options, wall_ms, batch, &plan);
  if (!status.ok()) return status;
  // One of its own: the application's function may have taken long.
  const auto gives_up = NoSlowdownDeadline(indexed_->db(), options);
  return CommitPlanned(options, gives_up, wall_ms, batch, plan);
}

}  // namespace rocksync

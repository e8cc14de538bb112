#include "replication/store/write/families.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "replication/base/rocksdb_errors.h"
#include "replication/store/format/index_key.h"
#include "replication/store/write/refusals.h"
#include "replication/store/write/write_stall.h"
#include "replication/text/escape_text.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// How long a write waits for a WriteBufferManager that stalls until memtables
// are flushed. Those of dropped families never are.
constexpr std::chrono::seconds kBudgetPatience{10};

void RemoveById(std::vector<Family>* families, uint32_t id) {
  families->erase(
      std::remove_if(families->begin(), families->end(),
                     [id](const Family& family) { return family.id == id; }),
      families->end());
}

}  // namespace

Families::Families(IndexedDB* indexed, std::vector<Family> replicated,
                   std::vector<Family> others,
                   std::vector<FamilyRecord> records,
                   std::shared_ptr<HashCompletionFactory> completion)
    : indexed_(indexed), completion_(std::move(completion)) {
  Show(std::make_unique<const FamilyTable>(std::move(replicated),
                                           std::move(others)),
       std::move(records));
}

bool Families::WouldReplicate(const std::string& name) const {
  return IsReplicatedName(indexed_->options(), name);
}

Status Families::CheckNew(const std::string& name,
                          const rocksdb::ColumnFamilyOptions& options) const {
  Status status = CheckFamilyName(name);
  if (status.ok()) {
    status = CheckFamilyOptions(indexed_->db()->GetDBOptions(),
                                indexed_->options(), name, options);
  }
  if (!status.ok() || !WouldReplicate(name)) return status;
  const FamiliesInUse now = indexed_->families();
  return CheckFamilyCount(now->families().size() + 1);
}

std::vector<FamilyRecord> Families::records() const {
  std::lock_guard lock(records_mutex_);
  return records_;
}

void Families::CopyFamilies(std::vector<Family>* replicated,
                            std::vector<Family>* others) const {
  const FamiliesInUse now = indexed_->families();
  *replicated = now->families();
  *others = now->others();
}

void Families::SetRecords(std::vector<FamilyRecord> records) {
  std::lock_guard lock(records_mutex_);
  records_ = std::move(records);
}

// An application may use its own handle of the default family, or RocksDB's.
bool Families::IsHandleOf(rocksdb::ColumnFamilyHandle* handle,
                          const Family* family) const {
  return family != nullptr && (handle == family->handle() ||
                               handle == indexed_->db()->DefaultColumnFamily());
}

const Family* Families::Find(const FamilyTable& families,
                             rocksdb::ColumnFamilyHandle* handle) const {
  if (handle == nullptr) return nullptr;
  const Family* const family = families.Find(handle->GetID());
  return IsHandleOf(handle, family) ? family : nullptr;
}

bool Families::Replicates(rocksdb::ColumnFamilyHandle* handle) const {
  const FamiliesInUse now = indexed_->families();
  return Find(*now, handle) != nullptr;
}

Status Families::CheckKnown(rocksdb::ColumnFamilyHandle* handle) const {
  const Status open = indexed_->CheckOpen();
  if (!open.ok()) return open;
  // Open returns a null handle where an application named the index.
  if (handle == nullptr) {
    return Status::InvalidArgument(
        "rocksync: the column family handle is null",
        "leave out the index, whose handle Open does not give out");
  }
  const uint32_t id = handle->GetID();
  const FamiliesInUse now = indexed_->families();
  if (IsHandleOf(handle, now->Find(id)) ||
      IsHandleOf(handle, now->FindOther(id))) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      "rocksync: column family " + EscapeText(handle->GetName()) +
          " was dropped, or not created by ReplicatedDB, or its handle is of "
          "another database",
      "create families with ReplicatedDB::CreateColumnFamily, or open the "
      "database anew");
}

Status Families::BeginCheck(
    bool may_wait,
    const std::function<Status(const std::vector<FamilyRecord>&)>& check) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (may_wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return Status::Incomplete(
        "rocksync: a column family is being created or dropped",
        "retried by itself");
  }
  std::vector<FamilyRecord> next = records();
  for (FamilyRecord& record : next) record.work |= kFamilyChecking;
  // Set before the check begins. If it does not begin, what the records say is
  // requested again.
  SetRecords(next);
  return check(next);
}

Status Families::EndCheck(uint32_t family_id,
                          const std::function<bool()>& still) {
  std::lock_guard lock(mutex_);
  if (!still()) return Status::OK();
  std::vector<FamilyRecord> next = records();
  for (FamilyRecord& record : next) {
    if (record.id == family_id) record.work = 0;
  }
  const Status status = Write(next, rocksdb::WriteOptions());
  if (status.ok()) SetRecords(std::move(next));
  return status;
}

Status Families::Write(const std::vector<FamilyRecord>& records,
                       const rocksdb::WriteOptions& options) {
  rocksdb::WriteBatch batch;
  Status status = batch.Put(indexed_->reader().index(),
                            MetaKey(kFamiliesRecord), Encode(records));
  if (status.ok()) {
    status = WriteUnlessBudgetStalls(indexed_->db(), options, &batch,
                                     kBudgetPatience);
  }
  if (!status.IsBusy()) return status;
  return Status::Busy(
      "rocksync: the WriteBufferManager stalls writes, also that of which "
      "families there are",
      "destroy the handles of column families that were dropped, which keep "
      "their memtables until then, and try again");
}

// REQUIRES: mutex_ is held.
Status Families::NoteMayBeAbsent(uint32_t family_id, bool absent,
                                 bool durably) {
  std::vector<FamilyRecord> next = records();
  const auto found = std::find_if(
      next.begin(), next.end(),
      [&](const FamilyRecord& record) { return record.id == family_id; });
  if (found == next.end()) return Status::OK();
  found->may_be_absent = absent;
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status = durably ? Write(next, synced) : Status::OK();
  if (status.ok()) SetRecords(std::move(next));
  return status;
}

void Families::Show(std::unique_ptr<const FamilyTable> next,
                    std::vector<FamilyRecord> records) {
  SetRecords(std::move(records));
  completion_->Start(*next, indexed_->home_id());
  indexed_->shown_families()->Show(std::move(next));
}

// REQUIRES: mutex_ is held.
Status Families::Install(std::vector<Family> families,
                         std::vector<Family> others,
                         std::vector<FamilyRecord> records) {
  auto next = std::make_unique<const FamilyTable>(std::move(families),
                                                  std::move(others));
  AllStripesGuard all(indexed_->locks());
  const Status status = Write(records, rocksdb::WriteOptions());
  if (status.ok()) Show(std::move(next), std::move(records));
  return status;
}

Status Families::Add(const std::string& name,
                     const rocksdb::ColumnFamilyOptions& options,
                     rocksdb::ColumnFamilyHandle* handle) {
  std::lock_guard lock(mutex_);
  std::vector<Family> families;
  std::vector<Family> others;
  CopyFamilies(&families, &others);
  std::vector<FamilyRecord> next = records();
  Family family;
  family.id = handle->GetID();
  family.name = name;
  family.shared = std::make_shared<SharedHandle>(indexed_->db(), handle);
  const std::vector<std::string>& merging = indexed_->options().merge_families;
  if (!WouldReplicate(name) ||
      std::find(merging.begin(), merging.end(), name) != merging.end()) {
    family.merge_operator = options.merge_operator;
  }
  if (WouldReplicate(name)) {
    // If the write fails but reaches the disk all the same, the family may be
    // gone at the next opening.
    next.push_back({family.id, name, 0, /*may_be_absent=*/true});
    families.push_back(std::move(family));
  } else {
    others.push_back(std::move(family));
  }
  const uint32_t id = handle->GetID();
  const Status status =
      Install(std::move(families), std::move(others), std::move(next));
  if (!status.ok()) {
    unfinished_[name] = handle;
    return status;
  }
  // From now on a drop by anything else is noticed.
  NoteMayBeAbsent(id, false, /*durably=*/true).PermitUncheckedError();
  return status;
}

rocksdb::ColumnFamilyHandle* Families::Unfinished(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = unfinished_.find(name);
  if (found == unfinished_.end()) return nullptr;
  rocksdb::ColumnFamilyHandle* const handle = found->second;
  unfinished_.erase(found);
  return handle;
}

Status Families::Drop(rocksdb::ColumnFamilyHandle* handle,
                      const PurgeRequest& purge) {
  std::lock_guard lock(mutex_);
  const Status known = CheckKnown(handle);
  if (!known.ok()) return known;
  const uint32_t id = handle->GetID();
  ++drops_;
  const Status status = DropLocked(id, handle, purge);
  ++drops_;
  return status;
}

// REQUIRES: mutex_ is held.
Status Families::DropLocked(uint32_t id, rocksdb::ColumnFamilyHandle* handle,
                            const PurgeRequest& purge) {
  // Recorded durably before RocksDB drops the family. Else, after a crash
  // before it is removed here, it would look like one that something else
  // dropped. With this record, an opening that does not find the family purges
  // its entries.
  const Status noted = NoteMayBeAbsent(id, true, /*durably=*/true);
  if (!noted.ok()) return noted;
  const bool replicated = IsReplicated(id);
  bool gone = false;
  const Status dropped = DropAndHide(id, handle, &gone);
  if (!gone) {
    // Not written now, as the disk may just have failed.
    NoteMayBeAbsent(id, false, /*durably=*/false).PermitUncheckedError();
    return dropped;
  }
  if (!replicated) return dropped;
  const Status purged = RemoveEntries(id, purge);
  return dropped.ok() && !purged.IsBusy() ? purged : dropped;
}

// Has RocksDB drop the family, and removes it from the table. REQUIRES: mutex_
// is held.
Status Families::DropAndHide(uint32_t id, rocksdb::ColumnFamilyHandle* handle,
                             bool* gone) {
  std::vector<Family> families;
  std::vector<Family> others;
  CopyFamilies(&families, &others);
  RemoveById(&families, id);
  RemoveById(&others, id);
  auto next = std::make_unique<const FamilyTable>(std::move(families),
                                                  std::move(others));
  // Nothing is written after the drop with the stripes held: writes may stall
  // until the application destroys the handle.
  AllStripesGuard all(indexed_->locks());
  const Status status = indexed_->db()->DropColumnFamily(handle);
  *gone = status.ok() || OnlyLacksOptionsFile(status);
  if (*gone) Show(std::move(next), records());
  return status;
}

// REQUIRES: mutex_ is held.
Status Families::RemoveEntries(uint32_t id, const PurgeRequest& purge) {
  dropped_.insert(id);
  indexed_->digests()->Invalidate();
  std::vector<FamilyRecord> left = records();
  left.erase(std::remove_if(left.begin(), left.end(),
                            [this](const FamilyRecord& record) {
                              return dropped_.contains(record.id);
                            }),
             left.end());
  const Status status = purge(left);
  // After an error the records still list the family, and the next opening
  // purges again.
  if (status.ok()) SetRecords(std::move(left));
  return status;
}

bool Families::WasDropped(uint32_t family_id) {
  std::lock_guard lock(mutex_);
  return dropped_.contains(family_id);
}

bool Families::GiveBack(rocksdb::ColumnFamilyHandle* handle) {
  if (!rocksync::GiveBack(indexed_->db(), handle)) return false;
  // Mostly nobody uses the table. Else the index build frees it a little later.
  indexed_->shown_families()->FreeUnused();
  return true;
}

void Families::Close() {
  for (const auto& [name, handle] : unfinished_) {
    indexed_->db()->DropColumnFamily(handle).PermitUncheckedError();
    indexed_->db()->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  unfinished_.clear();
  indexed_->shown_families()->Show(std::make_unique<const FamilyTable>(
      std::vector<Family>(), std::vector<Family>()));
  indexed_->shown_families()->FreeAll();
  DestroyGivenBack(indexed_->db());
}

}  // namespace rocksync

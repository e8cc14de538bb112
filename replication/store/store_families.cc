// Replicated families that come and go while the database is open.

#include <algorithm>
#include <utility>

#include "replication/store/adoption.h"
#include "replication/store/index_key.h"
#include "replication/store/refusals.h"
#include "replication/store/store.h"

namespace rocksync {
namespace {

using rocksdb::Status;

void RemoveById(std::vector<Family>* families, uint32_t id) {
  families->erase(
      std::remove_if(families->begin(), families->end(),
                     [id](const Family& family) { return family.id == id; }),
      families->end());
}

}  // namespace

bool Store::WouldReplicate(const std::string& name) const {
  return IsReplicatedName(options_, name);
}

Status Store::CheckNewFamily(
    const std::string& name,
    const rocksdb::ColumnFamilyOptions& options) const {
  const Status status = CheckFamilyOptions(options_, name, options);
  if (!status.ok() || !WouldReplicate(name)) return status;
  return CheckFamilyCount(table().families().size() + 1);
}

std::vector<FamilyRecord> Store::family_records() const {
  std::lock_guard lock(records_mutex_);
  return family_records_;
}

void Store::SetFamilyRecords(std::vector<FamilyRecord> records) {
  std::lock_guard lock(records_mutex_);
  family_records_ = std::move(records);
}

Status Store::CheckKnown(rocksdb::ColumnFamilyHandle* handle) const {
  const Status open = CheckOpen();
  if (!open.ok()) return open;
  const uint32_t id = handle->GetID();
  if (table().Find(id) != nullptr || table().FindOther(id) != nullptr) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      "rocksync: column family " + handle->GetName() +
          " was dropped, or not created by ReplicatedDB",
      "create families with ReplicatedDB::CreateColumnFamily, or open the "
      "database anew");
}

bool Store::AllIsIndexed(const std::function<bool()>& cancelled) {
  // In this order: what is dealt with is being compared from then on.
  return foreign_.Look(cancelled) == ForeignWrites::Finding::kNone &&
         adoption_->Progress().done;
}

Status Store::DealWithForeignWrites(bool may_wait,
                                    const std::function<bool()>& cancelled) {
  return foreign_.Deal(
      may_wait, adoption_->Progress().done, cancelled,
      [&](uint64_t known, const std::vector<ForeignRange>& ranges) {
        return Recheck(may_wait, known, ranges);
      });
}

Status Store::Recheck(bool may_wait, uint64_t known,
                      const std::vector<ForeignRange>& ranges) {
  std::unique_lock lock(families_mutex_, std::defer_lock);
  if (may_wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return Status::Incomplete("rocksync: a family comes or goes");
  }
  std::vector<FamilyRecord> records = family_records();
  for (FamilyRecord& record : records) record.work |= kFamilyChecking;
  // Before the check begins. If it does not, what they say is asked for again.
  SetFamilyRecords(records);
  return adoption_->RequestCheck(known, ranges, records, may_wait);
}

Status Store::FamilyIsRead(uint32_t family_id, uint64_t generation) {
  std::lock_guard lock(families_mutex_);
  if (adoption_->generation() != generation) return Status::OK();
  std::vector<FamilyRecord> records = family_records();
  for (FamilyRecord& record : records) {
    if (record.id == family_id) record.work = 0;
  }
  const Status status = db()->Put(rocksdb::WriteOptions(), reader_.index(),
                                  MetaKey(kFamiliesRecord), Encode(records));
  if (status.ok()) SetFamilyRecords(std::move(records));
  return status;
}

// Before RocksDB drops it, durably: else, after a crash before it is removed
// here, the family would be one that somebody else dropped.
// REQUIRES: families_mutex_ is held.
Status Store::NoteDropping(uint32_t family_id, bool dropping) {
  std::vector<FamilyRecord> records = family_records();
  const auto found = std::find_if(records.begin(), records.end(),
                                  [family_id](const FamilyRecord& record) {
                                    return record.id == family_id;
                                  });
  if (found == records.end()) return Status::OK();
  found->dropping = dropping;
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status = db()->Put(synced, reader_.index(),
                                  MetaKey(kFamiliesRecord), Encode(records));
  if (status.ok()) SetFamilyRecords(std::move(records));
  return status;
}

void Store::ShowFamilies(std::unique_ptr<const FamilyTable> next,
                         std::vector<FamilyRecord> records) {
  SetFamilyRecords(std::move(records));
  reader_.SetFamilies(next.get());
  completion_->Start(*next, identity_.home_id);
  tables_.push_back(std::move(next));
}

Status Store::RecordFamilies(const std::vector<FamilyRecord>& records) {
  return db()->Put(rocksdb::WriteOptions(), reader_.index(),
                   MetaKey(kFamiliesRecord), Encode(records));
}

// REQUIRES: families_mutex_ is held.
Status Store::InstallFamilies(std::vector<Family> families,
                              std::vector<Family> others,
                              std::vector<FamilyRecord> records) {
  auto next = std::make_unique<const FamilyTable>(std::move(families),
                                                  std::move(others));
  AllStripesGuard all(&locks_);
  const Status status = RecordFamilies(records);
  if (status.ok()) ShowFamilies(std::move(next), std::move(records));
  return status;
}

Status Store::AddFamily(const std::string& name,
                        const rocksdb::ColumnFamilyOptions& options,
                        rocksdb::ColumnFamilyHandle* handle) {
  std::lock_guard lock(families_mutex_);
  std::vector<Family> families = table().families();
  std::vector<Family> others = table().others();
  std::vector<FamilyRecord> records = family_records();
  Family family;
  family.id = handle->GetID();
  family.name = name;
  family.shared = std::make_shared<SharedHandle>(db(), handle);
  const bool merges =
      std::find(options_.merge_families.begin(), options_.merge_families.end(),
                name) != options_.merge_families.end();
  if (merges) family.merge_operator = options.merge_operator;
  if (WouldReplicate(name)) {
    records.push_back({family.id, name, 0});
    families.push_back(std::move(family));
  } else {
    others.push_back(std::move(family));
  }
  return InstallFamilies(std::move(families), std::move(others),
                         std::move(records));
}

Status Store::DropFamily(rocksdb::ColumnFamilyHandle* handle) {
  const uint32_t id = handle->GetID();
  std::lock_guard lock(families_mutex_);
  ++family_drops_;
  const Status status = DropLocked(id, handle);
  ++family_drops_;
  return status;
}

// REQUIRES: families_mutex_ is held.
Status Store::DropLocked(uint32_t id, rocksdb::ColumnFamilyHandle* handle) {
  Status status = NoteDropping(id, true);
  if (!status.ok()) return status;
  const bool replicated = IsReplicated(id);
  std::vector<Family> families = table().families();
  std::vector<Family> others = table().others();
  std::vector<FamilyRecord> records = family_records();
  RemoveById(&families, id);
  RemoveById(&others, id);
  records.erase(std::remove_if(records.begin(), records.end(),
                               [id](const FamilyRecord& record) {
                                 return record.id == id;
                               }),
                records.end());
  auto next = std::make_unique<const FamilyTable>(std::move(families),
                                                  std::move(others));
  {
    AllStripesGuard all(&locks_);
    status = db()->DropColumnFamily(handle);
    if (status.ok()) {
      // It is gone, whether or not that can be recorded.
      ShowFamilies(std::move(next), std::move(records));
      status = RecordFamilies(family_records());
    }
  }
  if (table().Find(id) != nullptr || table().FindOther(id) != nullptr) {
    NoteDropping(id, false).PermitUncheckedError();
    return status;
  }
  if (!replicated) return status;
  // If the power goes before the purge is written down, the next opening finds
  // that the family is gone and purges then.
  digests_.Invalidate();
  const Status purging = adoption_->RequestPurge();
  return status.ok() ? purging : status;
}

bool Store::WasDropped(uint32_t family_id) {
  std::lock_guard lock(families_mutex_);
  if (table().Find(family_id) != nullptr) return false;
  return !adoption_->Progress().done ||
         std::any_of(tables_.begin(), tables_.end(), [&](const auto& table) {
           return table->Find(family_id) != nullptr;
         });
}

bool Store::GiveBack(rocksdb::ColumnFamilyHandle* handle) {
  std::lock_guard lock(families_mutex_);
  for (const auto& table : tables_) {
    for (const auto* list : {&table->families(), &table->others()}) {
      for (const Family& family : *list) {
        if (family.shared->handle == handle) {
          family.shared->given_back = true;
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace rocksync

#include "replication/store/open/family_planner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "replication/base/rocksdb_version.h"
#include "replication/store/index/family_table.h"
#include "replication/store/write/refusals.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/debug.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

Status HasPairs(rocksdb::DB* db, ColumnFamilyHandle* handle, bool* has) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      db->NewIterator(options, handle));
  iterator->SeekToFirst();
  *has = iterator->Valid();
  if (iterator->status().ok()) return Status::OK();
  // A value that does not read, as when its blob file is lost, still belongs to
  // a pair.
  std::vector<rocksdb::KeyVersion> first;
  *has = KeyVersionsFrom(db, handle, nullptr, 1, &first).ok() && !first.empty();
  return *has ? Status::OK() : iterator->status();
}

Status FamilyPlanner::Plan(const std::vector<ColumnFamilyDescriptor>& families,
                           const std::vector<ColumnFamilyHandle*>& handles) {
  const std::vector<FamilyRecord> before = std::move(opened_->family_records);
  opened_->family_records.clear();
  for (size_t i = 0; i < families.size(); ++i) {
    const Status status = PlanFamily(families[i], handles[i], before);
    if (!status.ok()) return status;
  }
  WarnOfNamesWithoutFamily(families);
  PlanWork(before);
  return Status::OK();
}

Status FamilyPlanner::PlanFamily(const ColumnFamilyDescriptor& descriptor,
                                 ColumnFamilyHandle* handle,
                                 const std::vector<FamilyRecord>& before) {
  Family family;
  family.id = handle->GetID();
  family.name = descriptor.name;
  family.shared = std::make_shared<SharedHandle>(db_, handle);
  family.merge_operator = descriptor.options.merge_operator;
  if (!IsReplicatedName(replication_, family.name)) {
    opened_->other_families.push_back(std::move(family));
    return Status::OK();
  }
  FamilyRecord record{family.id, family.name, 0};
  const auto known = std::find_if(
      before.begin(), before.end(), [&](const FamilyRecord& candidate) {
        return candidate.id == family.id && candidate.name == family.name;
      });
  // A family that was to be dropped and is still there was not dropped.
  if (known != before.end() && !lost_.contains(family.id)) {
    record.work = known->work;
    if (foreign_.any) record.work |= kFamilyChecking;
  } else {
    bool has_pairs = false;
    const Status status = HasPairs(db_, handle, &has_pairs);
    if (!status.ok()) return status;
    if (has_pairs) record.work = kFamilyAdopting;
  }
  opened_->family_records.push_back(std::move(record));
  opened_->families.push_back(std::move(family));
  return Status::OK();
}

void FamilyPlanner::WarnOfNamesWithoutFamily(
    const std::vector<ColumnFamilyDescriptor>& families) const {
  for (const std::string& name : replication_.families) {
    const bool there = std::any_of(
        families.begin(), families.end(),
        [&](const ColumnFamilyDescriptor& f) { return f.name == name; });
    if (!there) {
      rocksdb::Warn(db_->GetDBOptions().info_log,
                    "rocksync: ReplicatedDBOptions::families names '%s', and "
                    "there is no such column family (yet); a typo leaves the "
                    "family that is meant unreplicated",
                    name.c_str());
    }
  }
}

// Plans the index build's work. `before`: the families that the index knew.
void FamilyPlanner::PlanWork(const std::vector<FamilyRecord>& before) {
  WorkRecord* const work = &opened_->work;
  for (const FamilyRecord& record : before) {
    const bool stays = std::any_of(
        opened_->family_records.begin(), opened_->family_records.end(),
        [&](const FamilyRecord& now) { return now.id == record.id; });
    if (!stays) work->purge = true;
  }
  if (!foreign_.any) return;
  // An unfinished check goes on from the older bound, and over everything.
  work->sealed_sequence =
      work->index_pass
          ? std::min(work->sealed_sequence, foreign_.last_known_sequence)
          : foreign_.last_known_sequence;
  work->index_pass = true;
  work->log_lost = work->log_lost || log_lost_;
  work->step = 0;
  work->cursor.clear();
  work->pairs_read = 0;
}

}  // namespace rocksync

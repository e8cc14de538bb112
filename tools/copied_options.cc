#include "tools/copied_options.h"

#include <memory>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/write/refusals.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

Status LoadCopiedOptions(const std::string& directory, OwnOptions* own) {
  const Status status =
      LoadOwnOptions(rocksdb::Env::Default(), directory, directory, own);
  own->db = WithLogAtHome(own->db, directory);
  own->db.db_paths.clear();
  own->db.db_log_dir.clear();
  for (ColumnFamilyDescriptor& family : own->families) {
    family.options.cf_paths.clear();
    // Nothing is filtered here.
    family.options.compaction_filter = nullptr;
    family.options.compaction_filter_factory = nullptr;
  }
  return status;
}

Status ReadReplicatedFamilies(const std::string& directory, OwnOptions* own,
                              ReplicatedDBOptions* replication) {
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Status status =
      OpenPlainForReadOnly(own->db, directory, own->families, &handles, &db);
  if (!status.ok()) return status;
  std::string bytes;
  status = Status::Corruption(directory, "has no index");
  for (ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() != kIndexFamilyName) continue;
    status = db->Get({}, handle, MetaKey(kFamiliesRecord), &bytes);
  }
  std::vector<FamilyRecord> records;
  if (status.ok() && !Decode(bytes, &records)) {
    status = Status::Corruption(directory, "has a damaged index");
  }
  for (const FamilyRecord& record : records) {
    replication->families.push_back(record.name);
  }
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  std::erase_if(own->families, [](const ColumnFamilyDescriptor& family) {
    return family.name == kIndexFamilyName;
  });
  // What was merged before the replica was one may be merged here.
  for (const ColumnFamilyDescriptor& family : own->families) {
    if (family.options.merge_operator != nullptr &&
        IsReplicatedName(*replication, family.name)) {
      replication->merge_families.push_back(family.name);
    }
  }
  return status;
}

}  // namespace rocksync

#include "tools/copied_options.h"

#include <memory>

#include "replication/base/directories.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/unreplayable_records.h"
#include "replication/store/write/refusals.h"
#include "rocksync/replicated_db.h"
#include "tools/stand_ins.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

namespace {

void LeaveOutPathsAndFilters(const std::string& directory, OwnOptions* own) {
  own->db = WithLogAtHome(own->db, directory);
  own->db.db_paths.clear();
  own->db.db_log_dir.clear();
  for (ColumnFamilyDescriptor& family : own->families) {
    family.options.cf_paths.clear();
    // Nothing is filtered here.
    family.options.compaction_filter = nullptr;
    family.options.compaction_filter_factory = nullptr;
  }
}

// A copy lies in one directory. (Tables that are elsewhere: their paths are in
// no OPTIONS file, and who opens the database without them says so.)
Status CheckLogIsIn(const std::string& directory,
                    const rocksdb::DBOptions& options) {
  if (options.wal_dir.empty() || AbsolutePath(options.env, options.wal_dir) ==
                                     AbsolutePath(options.env, directory)) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      "rocksync: the log of " + directory + " is in " + options.wal_dir,
      "a resync replaces one directory: start the replica and let sessions "
      "bring the pairs, or make a new one by `rocksync clone`");
}

}  // namespace

Status LoadCopiedOptions(const std::string& directory, OwnOptions* own) {
  const Status status =
      LoadOwnOptions(rocksdb::Env::Default(), directory, directory, own);
  LeaveOutPathsAndFilters(directory, own);
  return status;
}

Status LoadReplacedOptions(const std::string& directory,
                           const std::string& wal_dir, OwnOptions* own) {
  Status status =
      LoadOwnOptions(rocksdb::Env::Default(), directory, wal_dir, own);
  if (status.ok()) status = CheckLogIsIn(directory, own->db);
  LeaveOutPathsAndFilters(directory, own);
  return status;
}

Status ReadReplicatedFamilies(const std::string& directory, OwnOptions* own,
                              ReplicatedDBOptions* replication) {
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Status status = CheckLogReplays(own->db, directory, own->families);
  if (!status.ok()) return status;
  status = ExplainMissingComparator(
      OpenPlainForReadOnly(own->db, directory, own->families, &handles, &db),
      directory);
  if (!status.ok()) return NameDamagedFile(status, own->db.env, directory);
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

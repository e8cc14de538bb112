// Taking the index out of a database again.

#include <algorithm>
#include <memory>

#include "replication/store/all_families.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

}  // namespace

Status ReplicatedDB::Detach(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& column_families) {
  std::vector<ColumnFamilyDescriptor> families;
  Status status = AllFamilies(options, name, column_families, {}, &families);
  if (!status.ok()) return status;
  const bool has_index = std::any_of(families.begin(), families.end(),
                                     [](const ColumnFamilyDescriptor& d) {
                                       return d.name == kIndexFamilyName;
                                     });
  if (!has_index) {
    return Status::NotFound("rocksync: " + name + " has no index",
                            "it is a plain database already");
  }
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  status = OpenExisting(options, name, families, &handles, &db);
  if (!status.ok()) return status;
  for (ColumnFamilyHandle* handle : handles) {
    if (status.ok() && handle->GetName() == kIndexFamilyName) {
      status = db->DropColumnFamily(handle);
    }
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  const Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace rocksync

// ReplicatedDB's column families: creates, imports, drops and releases them.

#include <utility>

#include "replication/base/directories.h"
#include "replication/base/forked.h"
#include "replication/store/index/family_table.h"
#include "replication/store/open/shared_paths.h"
#include "replication/store/open/write_buffer_budget.h"
#include "replication/store/store.h"
#include "replication/store/write/callback_scope.h"
#include "replication/store/write/refusals.h"
#include "replication/text/escape_text.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::ColumnFamilyOptions;
using rocksdb::Status;

// Completes the creation of a family. If RocksDB failed after it made the
// family, drops it again. The index's records may fail, too, see Families::Add.
Status ReplicatedDB::Created(const std::string& name,
                             const ColumnFamilyOptions& options,
                             const Status& created,
                             ColumnFamilyHandle** handle) {
  if (created.ok()) {
    const Status added = store_->families()->Add(name, options, *handle);
    if (!added.ok()) *handle = nullptr;
    return added;
  }
  if (*handle == nullptr) return created;
  db_->DropColumnFamily(*handle).PermitUncheckedError();
  db_->DestroyColumnFamilyHandle(*handle).PermitUncheckedError();
  *handle = nullptr;
  return created;
}

// Claims the directories of the family's tables. At its next opening RocksDB
// would delete tables there that are not its own.
Status ReplicatedDB::TakePaths(const std::string& name,
                               const ColumnFamilyOptions& options,
                               std::vector<FormerOwner>* former) const {
  const std::vector<ColumnFamilyDescriptor> family = {{name, options}};
  rocksdb::DBOptions of_tables;
  of_tables.env = db_->GetEnv();
  const std::string directory = AbsolutePath(of_tables.env, db_->GetName());
  const Status status = CheckPathsAreFree(of_tables, family, directory);
  return status.ok() ? OwnPaths(of_tables, family, directory, former) : status;
}

Status ReplicatedDB::CreateColumnFamily(const ColumnFamilyOptions& options,
                                        const std::string& name,
                                        ColumnFamilyHandle** handle) {
  *handle = nullptr;
  Status status = CheckNotInCallback(store_->indexed());
  if (status.ok()) status = store_->indexed()->CheckOpen();
  if (status.ok()) status = store_->families()->CheckNew(name, options);
  if (status.ok()) {
    status = CheckKeptMemtables({{name, options}}, db_->GetDBOptions());
  }
  if (!status.ok()) return status;
  *handle = store_->families()->Unfinished(name);
  if (*handle == nullptr) {
    IndexedDB* const indexed = store_->indexed();
    status = indexed->space()->Check(indexed->WallMs(), 0, /*deletes=*/false);
    std::vector<FormerOwner> former;
    if (status.ok()) status = TakePaths(name, options, &former);
    if (status.ok()) status = db_->CreateColumnFamily(options, name, handle);
    if (*handle == nullptr) RestoreOwners(db_->GetEnv(), former);
    if (!status.ok() && *handle == nullptr) return status;
  }
  return Created(name, options, status, handle);
}

Status ReplicatedDB::CreateColumnFamilies(
    const ColumnFamilyOptions& options, const std::vector<std::string>& names,
    std::vector<ColumnFamilyHandle*>* handles) {
  std::vector<ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.push_back({name, options});
  return CreateColumnFamilies(families, handles);
}

Status ReplicatedDB::CreateColumnFamilies(
    const std::vector<ColumnFamilyDescriptor>& column_families,
    std::vector<ColumnFamilyHandle*>* handles) {
  handles->clear();
  for (const ColumnFamilyDescriptor& family : column_families) {
    ColumnFamilyHandle* handle = nullptr;
    const Status status =
        CreateColumnFamily(family.options, family.name, &handle);
    if (!status.ok()) return status;
    handles->push_back(handle);
  }
  return Status::OK();
}

Status ReplicatedDB::DropColumnFamily(ColumnFamilyHandle* family) {
  if (family != nullptr && family->GetName() == kIndexFamilyName) {
    return Status::InvalidArgument("rocksync: the index is in use",
                                   "close the database and detach it");
  }
  Status status = CheckNotInCallback(store_->indexed());
  if (status.ok()) status = store_->indexed()->CheckOpen();
  return status.ok() ? store_->DropFamily(family) : status;
}

Status ReplicatedDB::DropColumnFamilies(
    const std::vector<ColumnFamilyHandle*>& families) {
  for (ColumnFamilyHandle* family : families) {
    const Status status = DropColumnFamily(family);
    if (!status.ok()) return status;
  }
  return Status::OK();
}

Status ReplicatedDB::DestroyColumnFamilyHandle(ColumnFamilyHandle* family) {
  if (family == nullptr) return Status::OK();  // the index's, see Open
  // Destroying it here would delete what the parent reads.
  if (InForkedChild()) {
    return Status::NotSupported(
        "rocksync: the handle of column family " +
            EscapeText(family->GetName()) +
            " is of the process that opened the database",
        "destroy it there");
  }
  if (store_->families()->GiveBack(family)) return Status::OK();
  // The other database still reads through it.
  if (IsShared(family)) {
    return Status::InvalidArgument("rocksync: the handle of column family " +
                                       EscapeText(family->GetName()) +
                                       " is of another database",
                                   "give it back to that one");
  }
  return db_->DestroyColumnFamilyHandle(family);
}

Status ReplicatedDB::Import(const ColumnFamilyOptions& options,
                            const std::string& name,
                            const std::function<Status()>& import,
                            ColumnFamilyHandle** handle) {
  *handle = nullptr;
  IndexedDB* const indexed = store_->indexed();
  Status status = CheckNotInCallback(indexed);
  if (status.ok()) status = indexed->CheckOpen();
  if (status.ok()) {
    status = indexed->space()->Check(indexed->WallMs(), 0, /*deletes=*/false);
  }
  if (!status.ok()) return status;
  const Status named = CheckFamilyName(name);
  if (!named.ok()) return named;
  if (store_->families()->WouldReplicate(name)) {
    return Status::NotSupported(
        "rocksync: CreateColumnFamilyWithImport on a replicated family",
        "create the family and Put its pairs");
  }
  std::vector<FormerOwner> former;
  Status imported = TakePaths(name, options, &former);
  if (imported.ok()) imported = Counted()->Alone(import);
  if (*handle == nullptr) RestoreOwners(db_->GetEnv(), former);
  return imported.ok() || *handle != nullptr
             ? Created(name, options, imported, handle)
             : imported;
}

Status ReplicatedDB::CreateColumnFamilyWithImport(
    const ColumnFamilyOptions& options, const std::string& name,
    const rocksdb::ImportColumnFamilyOptions& import_options,
    const rocksdb::ExportImportFilesMetaData& metadata,
    ColumnFamilyHandle** handle) {
  return Import(
      options, name,
      [&] {
        return db_->CreateColumnFamilyWithImport(options, name, import_options,
                                                 metadata, handle);
      },
      handle);
}

}  // namespace rocksync

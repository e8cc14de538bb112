// Takes the index out of a database again (ReplicatedDB::Detach).
//
// The marker (marker.h) first lists that there may be no index, and is removed
// last: a crash before the drop leaves a replica as it was, a crash after it a
// plain database.

#include <algorithm>
#include <memory>
#include <optional>

#include "replication/base/directories.h"
#include "replication/base/forked.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/format/dropped_batches.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/offline/directory_access.h"
#include "replication/store/offline/own_options.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/damaged_manifest.h"
#include "replication/store/open/kept_options_file.h"
#include "replication/store/open/provenance.h"
#include "replication/store/open/shared_paths.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

ColumnFamilyHandle* FindIndex(const std::vector<ColumnFamilyHandle*>& handles) {
  const auto index = std::find_if(
      handles.begin(), handles.end(), [](ColumnFamilyHandle* handle) {
        return handle->GetName() == kIndexFamilyName;
      });
  return index == handles.end() ? nullptr : *index;
}

// Refuses a database that is not in the state that it was left in, as Open
// does: a part may be lost, which nobody would know of a plain database. An
// index that does not read does not prevent its removal.
Status CheckMark(const rocksdb::DBOptions& options, const std::string& name,
                 const std::vector<ColumnFamilyDescriptor>& families,
                 const Marker& marker) {
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  const Status opened =
      OpenPlainForReadOnly(options, name, families, &handles, &db);
  if (!opened.ok()) return Status::OK();  // an opening for writing says why
  std::string bytes;
  std::string mark;
  ColumnFamilyHandle* const index = FindIndex(handles);
  const bool found = index != nullptr &&
                     db->Get({}, index, MetaKey(kMarkRecord), &bytes).ok() &&
                     DecodeMark(bytes, &mark);
  const Status repaired = CheckRepaired(db.get(), name);
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  if (!repaired.ok()) return repaired;
  return found && !marker.Lists(mark) ? Refusal(Provenance::kPutBack, name)
                                      : Status::OK();
}

// Makes the marker list that there may be no index. The mark that the index
// holds stays listed, if it was; a copy stays a copy.
Status AllowForNoIndex(rocksdb::DB* db, ColumnFamilyHandle* index,
                       Marker marker) {
  std::string bytes;
  std::string mark;
  const Status status =
      db->Get(rocksdb::ReadOptions(), index, MetaKey(kMarkRecord), &bytes);
  // A mark that does not read does not prevent the removal of the index.
  if (!status.ok() && !status.IsNotFound() && !status.IsCorruption()) {
    return status;
  }
  const bool listed =
      status.ok() && DecodeMark(bytes, &mark) && marker.Lists(mark);
  marker.marks = {listed ? mark : marker.marks.front(), ""};
  marker.files.clear();
  return WriteMarker(db->GetEnv(), db->GetName(), marker);
}

// Takes the index away. REQUIRES: the database is open, so that nobody else has
// it.
Status TakeAway(rocksdb::DB* db, ColumnFamilyHandle* index,
                const std::optional<Marker>& marker,
                KeptOptionsFile* options_file) {
  // The application's options come first: a kill leaves them, whatever follows.
  Status status = options_file->PutBack();
  if (status.ok() && marker.has_value() && index != nullptr) {
    status = AllowForNoIndex(db, index, *marker);
  }
  // The drop is durable when the call returns.
  if (status.ok() && index != nullptr) status = db->DropColumnFamily(index);
  if (status.ok()) {
    options_file->LeaveOut(kIndexFamilyName);
    status = options_file->PutBack();
  }
  if (status.ok()) status = ForgetDroppedBatches(db->GetEnv(), db->GetName());
  return status.ok() ? RemoveMarker(db->GetEnv(), db->GetName()) : status;
}

// Takes all steps that write. REQUIRES: this process has claimed the directory.
Status OpenAndTakeAway(const rocksdb::DBOptions& options,
                       const std::string& name,
                       const std::vector<ColumnFamilyDescriptor>& families,
                       const std::optional<Marker>& marker) {
  KeptOptionsFile options_file(options.env, name);
  Status status = options_file.Read();
  if (!status.ok()) return status;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  status =
      OpenExisting(WithLogAtHome(options, name), name, families, &handles, &db);
  if (!status.ok()) return status;
  status = TakeAway(db.get(), FindIndex(handles), marker, &options_file);
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  const Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace

Status ReplicatedDB::Detach(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& column_families) {
  std::vector<ColumnFamilyDescriptor> families;
  Status status = CheckNotForked();
  if (status.ok()) status = CheckDatabaseName(name);
  if (status.ok()) status = CheckNoUnfinishedClone(options.env, name);
  if (status.ok()) {
    status = AllFamilies(options, name, column_families, {}, &families);
  }
  if (!status.ok()) return status;
  const bool has_index = std::any_of(families.begin(), families.end(),
                                     [](const ColumnFamilyDescriptor& d) {
                                       return d.name == kIndexFamilyName;
                                     });
  Marker found;
  const Status read = ReadMarker(options.env, name, &found);
  if (!has_index && read.IsNotFound()) {
    return Status::NotFound("rocksync: " + name + " has no index",
                            "it is a plain database already");
  }
  status = CheckWalDir(options, name);
  if (status.ok()) {
    status = CheckPathsAreOwn(
        options, column_families, name, AbsolutePath(options.env, name),
        read.IsNotFound() ? Known::kUnmarked : Known::kReplica);
  }
  if (!status.ok()) return status;
  // A damaged marker is removed as well.
  if (!read.ok() && !read.IsNotFound() && !read.IsCorruption()) return read;
  status = CheckFreeToWrite(options.env, name);
  std::unique_ptr<DirectoryClaim> claim;
  if (status.ok()) status = DirectoryClaim::Take(options.env, name, &claim);
  if (status.ok()) status = CheckLogReplays(options, name, families);
  // RocksDB would delete tables that a damaged MANIFEST does not list.
  const bool index_due = read.ok() && !found.Lists(std::string());
  if (status.ok() && index_due &&
      (!has_index || ManifestEndsWithinRecord(options.env, name))) {
    status = NameDamagedFile(CheckManifest(options, name, column_families),
                             options.env, name);
  }
  if (status.ok() && index_due) {
    status = CheckMark(options, name, families, found);
  }
  if (!status.ok()) return status;
  return OpenAndTakeAway(
      options, name, families,
      read.ok() ? std::optional<Marker>(found) : std::nullopt);
}

}  // namespace rocksync

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/objects.h"
#include "bindings/c/rocksdb_objects.h"
#include "bindings/c/view.h"
#include "rocksync/c.h"
#include "rocksync/limits.h"

namespace {

using rocksdb::Status;

// Refuses what cannot be opened with whatever it says.
Status CheckOpening(const rocksdb_options_t* options,
                    const rocksync_options_t* replication, const char* name) {
  if (options == nullptr) return rocksync::NullArgument("options");
  if (replication == nullptr) return rocksync::NullArgument("replication");
  if (name == nullptr) return rocksync::NullArgument("name");
  return rocksync::CheckRocksDBObjects();
}

rocksync_t* NewDatabase(rocksync::ReplicatedDB* opened) {
  auto database = std::make_unique<rocksync_t>();
  database->open = std::make_shared<rocksync::OpenDatabase>();
  database->open->db.reset(opened);
  return database.release();
}

rocksdb_column_family_handle_t* AddHandle(rocksync_t* db,
                                          rocksdb::ColumnFamilyHandle* handle) {
  const std::lock_guard lock(db->mutex);
  db->families.push_back(rocksync::NewCObject(handle));
  return db->families.back();
}

// Until it is closed, or that is given up.
class Closing {
 public:
  explicit Closing(rocksync::OpenDatabase* open) : open_(open) { Set(true); }
  ~Closing() {
    if (open_ != nullptr) Set(false);
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  void Done() { open_ = nullptr; }

 private:
  void Set(bool closing) {
    const std::lock_guard lock(open_->mutex);
    open_->closing = closing;
  }

  rocksync::OpenDatabase* open_;
};

// As of everything else that keeps a database open. Before any lock: in a child
// of fork one may be held by a thread that is not there.
Status CheckOwnToClose(const rocksync::OpenDatabase& open) {
  const Status status = rocksync::CheckOwnProcess(open);
  return status.ok() ? status : Status::Aborted(status.getState());
}

// What has to go first, but for so many of the caller's.
Status CheckUnused(const rocksync::OpenDatabase& open, size_t own_rocksdbs) {
  const int replicators = open.replicators;
  if (replicators > 0) {
    return Status::Aborted("rocksync: " + std::to_string(replicators) +
                               " replicator(s) of the database are still there",
                           "call rocksync_replicator_destroy first");
  }
  const int rocksdbs = open.rocksdbs;
  if (static_cast<size_t>(rocksdbs) > own_rocksdbs) {
    return Status::Aborted("rocksync: " + std::to_string(rocksdbs) +
                               " rocksdb_t of the database are still open",
                           "call rocksdb_close on each first");
  }
  return Status::OK();
}

}  // namespace

extern "C" {

rocksync_t* rocksync_open(const rocksdb_options_t* options,
                          const rocksync_options_t* replication,
                          const char* name, char** errptr) {
  Status status = CheckOpening(options, replication, name);
  rocksync::ReplicatedDB* opened = nullptr;
  if (status.ok()) {
    status = rocksync::ReplicatedDB::Open(rocksync::Unwrap(options),
                                          replication->rep, name, &opened);
  }
  if (rocksync::SaveError(errptr, status)) return nullptr;
  return NewDatabase(opened);
}

rocksync_t* rocksync_open_column_families(
    const rocksdb_options_t* options, const rocksync_options_t* replication,
    const char* name, int families, const char* const* family_names,
    const rocksdb_options_t* const* family_options,
    rocksdb_column_family_handle_t** handles, char** errptr) {
  Status status = CheckOpening(options, replication, name);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  if (status.ok()) {
    status = rocksync::ToFamilies(families, family_names, family_options,
                                  &descriptors);
  }
  if (status.ok() && families > 0 && handles == nullptr) {
    status = rocksync::NullArgument("handles");
  }
  rocksync::ReplicatedDB* opened = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> opened_handles;
  if (status.ok()) {
    status = rocksync::ReplicatedDB::Open(rocksync::Unwrap(options),
                                          replication->rep, name, descriptors,
                                          &opened_handles, &opened);
  }
  if (rocksync::SaveError(errptr, status)) return nullptr;
  rocksync_t* const db = NewDatabase(opened);
  for (size_t i = 0; i < opened_handles.size(); ++i) {
    handles[i] = AddHandle(db, opened_handles[i]);
  }
  return db;
}

unsigned char rocksync_close(rocksync_t* db, char** errptr) {
  if (db == nullptr) {
    rocksync::SaveError(errptr, rocksync::NullArgument("db"));
    return 0;
  }
  if (rocksync::SaveError(errptr, CheckOwnToClose(*db->open))) return 0;
  // Nothing begins to use it between these steps.
  Closing closing(db->open.get());
  if (rocksync::SaveError(errptr, CheckUnused(*db->open, 0))) return 0;
  // First, since the handles of dropped families go when they are given back,
  // and the caller has them again if the database does not close.
  if (rocksync::SaveError(errptr, db->open->db->CheckClose())) return 0;
  for (rocksdb_column_family_handle_t* family : db->families) {
    if (db->given_back) break;
    db->open->db->DestroyColumnFamilyHandle(rocksync::Unwrap(family))
        .PermitUncheckedError();
  }
  db->given_back = true;
  const Status status = db->open->db->Close();
  rocksync::SaveError(errptr, status);
  if (status.IsAborted()) return 0;
  closing.Done();
  for (rocksdb_column_family_handle_t* family : db->families) {
    rocksync::FreeCObject(family);
  }
  delete db;
  return 1;
}

unsigned char rocksync_check_close(const rocksync_t* db, size_t rocksdbs,
                                   size_t iterators, char** errptr) {
  Status status =
      db == nullptr ? rocksync::NullArgument("db") : CheckOwnToClose(*db->open);
  if (status.ok()) status = CheckUnused(*db->open, rocksdbs);
  if (status.ok()) status = db->open->db->CheckClose(iterators);
  return !rocksync::SaveError(errptr, status);
}

rocksdb_t* rocksync_rocksdb(rocksync_t* db, char** errptr) {
  if (db == nullptr) {
    rocksync::SaveError(errptr, rocksync::NullArgument("db"));
    return nullptr;
  }
  if (rocksync::SaveError(errptr, rocksync::CheckOwnProcess(*db->open))) {
    return nullptr;
  }
  const std::lock_guard lock(db->open->mutex);
  if (rocksync::SaveError(errptr, rocksync::CheckNotClosing(*db->open))) {
    return nullptr;
  }
  return rocksync::NewCObject(rocksync::NewView(db->open));
}

rocksdb_column_family_handle_t* rocksync_create_column_family(
    rocksync_t* db, const rocksdb_options_t* options, const char* name,
    char** errptr) {
  Status status;
  if (db == nullptr) status = rocksync::NullArgument("db");
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (name == nullptr) status = rocksync::NullArgument("name");
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  if (status.ok()) {
    status = db->open->db->CreateColumnFamily(rocksync::Unwrap(options), name,
                                              &handle);
  }
  if (rocksync::SaveError(errptr, status)) return nullptr;
  return AddHandle(db, handle);
}

void rocksync_drop_column_family(rocksync_t* db,
                                 rocksdb_column_family_handle_t* family,
                                 char** errptr) {
  if (db == nullptr || family == nullptr) {
    rocksync::SaveError(
        errptr, rocksync::NullArgument(db == nullptr ? "db" : "family"));
    return;
  }
  rocksync::SaveError(errptr,
                      db->open->db->DropColumnFamily(rocksync::Unwrap(family)));
}

void rocksync_column_family_handle_destroy(
    rocksync_t* db, rocksdb_column_family_handle_t* family, char** errptr) {
  if (db == nullptr || family == nullptr) {
    rocksync::SaveError(
        errptr, rocksync::NullArgument(db == nullptr ? "db" : "family"));
    return;
  }
  if (rocksync::SaveError(errptr, rocksync::CheckOwnProcess(*db->open))) return;
  const std::lock_guard lock(db->mutex);
  const auto found =
      std::find(db->families.begin(), db->families.end(), family);
  Status status;
  if (found == db->families.end() || db->given_back) {
    status = Status::InvalidArgument(
        "rocksync: the handle of a column family is of another database, or "
        "destroyed already");
  }
  if (status.ok()) {
    status = db->open->db->DestroyColumnFamilyHandle(rocksync::Unwrap(family));
  }
  if (rocksync::SaveError(errptr, status)) return;
  db->families.erase(found);
  rocksync::FreeCObject(family);
}

char* rocksync_replicated_families(const rocksync_t* db, size_t* count,
                                   char** errptr) {
  if (db == nullptr || count == nullptr) {
    rocksync::SaveError(errptr,
                        rocksync::NullArgument(db == nullptr ? "db" : "count"));
    return nullptr;
  }
  std::string names;
  const std::vector<std::string> families = db->open->db->ReplicatedFamilies();
  for (const std::string& name : families) names.append(name).push_back('\0');
  *count = families.size();
  return rocksync::NewText(names);
}

uint64_t rocksync_replica_id(const rocksync_t* db) {
  return db == nullptr ? 0 : db->open->db->Identity().replica_id;
}

uint64_t rocksync_incarnation(const rocksync_t* db) {
  return db == nullptr ? 0 : db->open->db->Identity().incarnation;
}

void rocksync_wait_for_index_build(const rocksync_t* db, uint64_t timeout_ms,
                                   char** errptr) {
  rocksync::SaveError(
      errptr, db == nullptr ? rocksync::NullArgument("db")
                            : db->open->db->WaitForIndexBuild(timeout_ms));
}

double rocksync_index_build_percent(const rocksync_t* db) {
  if (db == nullptr) return 0;
  const rocksync::IndexBuildProgress progress =
      db->open->db->GetIndexBuildProgress();
  // What is estimated may come to 100 before the end.
  return progress.done ? 100 : std::min(progress.percent, 99.9);
}

void rocksync_set_members(rocksync_t* db, uint64_t epoch,
                          const uint64_t* replica_ids, size_t count,
                          char** errptr) {
  if (db == nullptr || (replica_ids == nullptr && count > 0)) {
    rocksync::SaveError(
        errptr, rocksync::NullArgument(db == nullptr ? "db" : "replica_ids"));
    return;
  }
  // Before so many are copied.
  if (count > rocksync::kMaxMembers) {
    rocksync::SaveError(
        errptr, Status::InvalidArgument("rocksync: " + std::to_string(count) +
                                        " members; at most " +
                                        std::to_string(rocksync::kMaxMembers)));
    return;
  }
  rocksync::SaveError(
      errptr,
      db->open->db->SetMembers(
          epoch, std::vector<uint64_t>(replica_ids, replica_ids + count)));
}

void rocksync_collect_tombstones(rocksync_t* db, char** errptr) {
  rocksync::SaveError(errptr, db == nullptr
                                  ? rocksync::NullArgument("db")
                                  : db->open->db->CollectTombstones());
}

uint64_t rocksync_delete_range_in_chunks(rocksync_t* db,
                                         const rocksdb_writeoptions_t* options,
                                         rocksdb_column_family_handle_t* family,
                                         const char* begin, size_t begin_size,
                                         const char* end, size_t end_size,
                                         char** errptr) {
  Status status;
  if (db == nullptr) status = rocksync::NullArgument("db");
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (begin == nullptr) status = rocksync::NullArgument("begin");
  if (end == nullptr) status = rocksync::NullArgument("end");
  uint64_t deleted = 0;
  if (status.ok()) {
    rocksync::ReplicatedDB* const replicated = db->open->db.get();
    status = replicated->DeleteRangeInChunks(
        rocksync::Unwrap(options),
        family == nullptr ? replicated->DefaultColumnFamily()
                          : rocksync::Unwrap(family),
        rocksdb::Slice(begin, begin_size), rocksdb::Slice(end, end_size),
        &deleted);
  }
  rocksync::SaveError(errptr, status);
  return deleted;
}

void rocksync_detach(const rocksdb_options_t* options, const char* name,
                     int families, const char* const* family_names,
                     const rocksdb_options_t* const* family_options,
                     char** errptr) {
  Status status;
  if (options == nullptr) status = rocksync::NullArgument("options");
  if (name == nullptr) status = rocksync::NullArgument("name");
  if (status.ok()) status = rocksync::CheckRocksDBObjects();
  std::vector<rocksdb::ColumnFamilyDescriptor> named;
  if (status.ok()) {
    status =
        rocksync::ToFamilies(families, family_names, family_options, &named);
  }
  if (status.ok()) {
    status =
        rocksync::ReplicatedDB::Detach(rocksync::Unwrap(options), name, named);
  }
  rocksync::SaveError(errptr, status);
}

}  // extern "C"

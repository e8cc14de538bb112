#include "tools/id.h"

#include <memory>
#include <ostream>
#include <string_view>

#include "replication/base/directories.h"
#include "replication/base/random_bits.h"
#include "replication/store/directory/directory_switch.h"
#include "replication/store/directory/make_directory.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/path_ownership.h"
#include "replication/store/open/provenance.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"
#include "tools/offline_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// A copy has the identity of its original until it is opened as a new replica.
// What Open would judge by, as far as it is there offline.
Status CheckItsOwn(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index,
                   const std::string& directory,
                   const IdentityRecord& identity) {
  ProvenanceFacts traces;
  traces.has_index = true;
  traces.index_complete = true;
  Marker marker;
  Status status = ReadMarker(db->GetEnv(), directory, &marker);
  if (status.ok()) traces.marker = marker;
  if (!status.ok() && !status.IsNotFound()) return status;
  std::string bytes;
  status = db->Get({}, index, MetaKey(kMarkRecord), &bytes);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.ok() && !DecodeMark(bytes, &traces.mark)) {
    return Status::Corruption("rocksync: the mark record of " + directory +
                              " is damaged");
  }
  std::string db_identity;
  status = db->GetDbIdentity(db_identity);
  if (!status.ok()) return status;
  traces.same_db_identity = identity.db_identity == db_identity;
  const Provenance provenance = Judge(traces);
  if (provenance != Provenance::kCopy) return Refusal(provenance, directory);
  return Status::Aborted(
      "rocksync: " + directory + " is a copy of replica " +
          ReplicaIdHex(identity.replica_id) +
          " (a checkpoint or a restored backup), or its file " +
          kMarkerFileName + " was removed",
      "open it once with its program and the option open_copy_as_new_replica "
      "(rocksync-store: --as-new-replica); it gets an id of its own, which "
      "this "
      "command prints then");
}

Status ReadIdentity(const OfflineDB& offline, const std::string& directory,
                    IdentityRecord* identity) {
  const Status lost = Status::Corruption(
      "rocksync: the index of " + directory + " does not say the replica's id",
      "see operating.md, \"A database that does not open\"");
  for (rocksdb::ColumnFamilyHandle* handle : offline.handles()) {
    if (handle->GetName() != kIndexFamilyName) continue;
    std::string bytes;
    const Status status =
        offline.db()->Get({}, handle, MetaKey(kIdentityRecord), &bytes);
    if (!status.ok() && !status.IsNotFound()) return status;
    if (!status.ok() || !Decode(bytes, identity)) return lost;
    return CheckItsOwn(offline.db(), handle, directory, *identity);
  }
  return lost;
}

// Whether there is a replica, or what should be one.
bool HasReplica(const std::string& directory) {
  return !rocksdb::Env::Default()
              ->FileExists(directory + "/CURRENT")
              .IsNotFound() &&
         !CheckHasIndex(directory, kNoReplica).IsNotFound();
}

// In a directory in which there is no database yet. RocksDB's log and lock are
// left there by an opening that may not make one.
bool MayBeThere(std::string_view name) {
  return name == "." || name == ".." || name == "lost+found" ||
         name == "LOCK" || name == "LOG" || name.starts_with("LOG.old.") ||
         name.starts_with(kIntendedIdFileName);
}

// Not the directory above it, say: a certificate would name an id that no
// database gets.
Status CheckIsADatabases(rocksdb::Env* env, const std::string& directory) {
  if (env->FileExists(directory + "/CURRENT").ok()) return Status::OK();
  std::vector<std::string> names;
  const Status status = env->GetChildren(directory, &names);
  if (status.IsNotFound()) return Status::OK();
  for (const std::string& name : names) {
    if (MayBeThere(name)) continue;
    return Status::InvalidArgument(
        "rocksync: " + directory +
            " is neither empty nor a RocksDB database, as " + name +
            " is in it",
        "give the directory of the database, or the one that it will be in, "
        "which is made if it is not there");
  }
  return status;
}

Status CheckIsNoFile(rocksdb::Env* env, const std::string& directory) {
  bool is_directory = false;
  if (!env->FileExists(directory).ok() ||
      !env->IsDirectory(directory, &is_directory).ok() || is_directory) {
    return Status::OK();
  }
  return Status::InvalidArgument("rocksync: " + directory + " is a file",
                                 "give the directory of a database");
}

// Of a replica to come.
Status IntendedId(const IdOptions& options, uint64_t* id) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  Status status = CheckIsNoFile(env, options.directory);
  if (status.ok()) status = CheckMayReadFiles(options.directory);
  if (status.ok()) status = ReadIntendedId(env, options.directory, id);
  if (!options.make || !status.IsNotFound()) return status;
  status = CheckNoSwitchIsLeft(env, options.directory);
  if (status.ok()) status = CheckIsADatabases(env, options.directory);
  // One that is there stays where it is.
  if (status.ok() && !env->FileExists(options.directory + "/CURRENT").ok()) {
    status = CheckLiesInNoDatabase(env, options.directory);
  }
  if (status.ok()) status = MakeDirectory(env, options.directory);
  if (status.ok()) status = CheckMayWrite(options.directory + "/");
  if (!status.ok()) return status;
  // Another run may be making one: then both print that. Or a first opening
  // has just made the replica.
  const IntendedIdLock lock(options.directory);
  if (lock.is_busy() || HasReplica(options.directory)) {
    return Status::Busy(
        "rocksync: " + options.directory + " is being made a replica",
        "run `rocksync id` again once it is closed");
  }
  status = ReadIntendedId(env, options.directory, id);
  if (!status.IsNotFound()) return status;
  *id = RandomBits();
  return WriteIntendedId(env, options.directory, *id);
}

// A replica has no id before its first opening, unless one was made.
Status WhyThereIsNone(const IdOptions& options) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const std::string& directory = options.directory;
  uint64_t id = 0;
  if (env->FileExists(directory + "/CURRENT").ok() ||
      !CheckNothingIsThere(env, directory).ok() ||
      !CheckIsADatabases(env, directory).ok()) {
    return ReadReplicaId(directory, options.wal_dirs, &id);
  }
  const bool there = env->FileExists(directory).ok();
  return Status::NotFound(
      "rocksync: no database is in " + directory +
          (there ? "" : ", which is not there"),
      "give the directory of an offline database; for a replica to be, "
      "`rocksync id --make " +
          directory + "` makes its id beforehand");
}

}  // namespace

Status ReadReplicaId(const std::string& directory,
                     const std::vector<std::string>& wal_dirs, uint64_t* id) {
  std::unique_ptr<OfflineDB> offline;
  IdentityRecord identity;
  Status status = CheckHasIndex(
      directory,
      "it is a plain database, not a replica; `rocksync id --make` with this "
      "directory makes the id that it gets when it is opened as a replica for "
      "the first time");
  if (status.ok()) status = OfflineDB::OpenIndex(directory, wal_dirs, &offline);
  if (status.ok()) status = ReadIdentity(*offline, directory, &identity);
  *id = identity.replica_id;
  return status;
}

int RunId(const IdOptions& options, std::ostream& out, std::ostream& err) {
  const std::string& directory = options.directory;
  uint64_t id = 0;
  Status status = directory.empty()
                      ? Status::InvalidArgument("the directory's name is empty")
                      : CheckWalDirs(options.wal_dirs, {directory});
  if (status.ok() && !HasReplica(directory)) {
    status = IntendedId(options, &id);
    if (status.IsNotFound()) status = WhyThereIsNone(options);
  } else if (status.ok()) {
    status = ReadReplicaId(directory, options.wal_dirs, &id);
  }
  if (!status.ok()) {
    err << "rocksync id " << directory << ": " << status.ToString() << "\n";
    return 2;
  }
  out << ReplicaIdHex(id) << "\n";
  return 0;
}

}  // namespace rocksync

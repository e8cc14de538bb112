// Gives new versions to pairs of a replica whose clock had jumped ahead
// (ReplicatedDB::Restamp).
//
// All peers held back versions further ahead than they accept: they did not
// apply them, follow them or relay them. So no other replica has ordered
// anything by them, and a fresh version for such a pair is a first one for
// everybody else. It is later than all else that this replica knows, so here,
// too, every pair keeps what it won against.

#include <algorithm>
#include <memory>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/forked.h"
#include "replication/base/rocksdb_version.h"
#include "replication/session/acceptance.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/hash_completion.h"
#include "replication/store/index/index_options.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/offline/directory_access.h"
#include "replication/store/offline/offline_replica.h"
#include "replication/store/offline/own_options.h"
#include "replication/store/open/all_families.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/kept_options_file.h"
#include "replication/store/open/provenance.h"
#include "replication/store/open/seal.h"
#include "replication/store/open/shared_paths.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

constexpr uint32_t kBatchEntries = 1000;

class Restamping {
 public:
  Restamping(rocksdb::DB* db, const OfflineReplica& replica, uint64_t wall_ms,
             uint64_t max_ahead_ms, RestampResult* result)
      : db_(db),
        replica_(replica),
        wall_ms_(wall_ms),
        max_ahead_ms_(max_ahead_ms),
        result_(result) {}

  Status Run() {
    Status status = ChooseVersion();
    if (status.ok()) status = NoteOpening();
    if (status.ok()) status = RestampEntries();
    return status.ok() ? Finish() : status;
  }

 private:
  bool Ahead(const Version& version) const {
    return version.replica == replica_.identity().replica_id &&
           TooFarAhead(version, wall_ms_, max_ahead_ms_);
  }

  // Chooses a version that is later than everything that stays.
  Status ChooseVersion() {
    uint64_t latest = wall_ms_ << 16;
    IndexCursor cursor(replica_.reader(), nullptr,
                       replica_.reader().stable_time(),
                       IndexCursor::Order::kTotal);
    for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
      ++result_->entries_read;
      const Version& version = cursor.entry().version;
      if (Ahead(version)) {
        result_->furthest_ahead_ms =
            std::max(result_->furthest_ahead_ms, WallMs(version) - wall_ms_);
      } else if (!TooFarAhead(version, wall_ms_, max_ahead_ms_)) {
        latest = std::max(latest, version.time);
      }
    }
    fresh_ = {.time = latest + 1, .replica = replica_.identity().replica_id};
    return cursor.status();
  }

  // Notes this opening before the first write, in one batch: a database that is
  // left amid this is one that its own program left so, and the next opening
  // goes on from there.
  Status NoteOpening() {
    IdentityRecord identity = replica_.identity();
    identity.manifest = CurrentManifest(db_->GetEnv(), db_->GetName());
    rocksdb::WriteBatch batch;
    Status status = batch.Put(replica_.reader().index(),
                              MetaKey(kIdentityRecord), Encode(identity));
    if (status.ok()) {
      status = batch.Delete(replica_.reader().index(), MetaKey(kSealRecord));
    }
    rocksdb::WriteOptions synced;
    synced.sync = true;
    return status.ok() ? db_->Write(synced, &batch) : status;
  }

  Status RestampEntries() {
    IndexCursor cursor(replica_.reader(), nullptr,
                       replica_.reader().stable_time(),
                       IndexCursor::Order::kTotal);
    rocksdb::WriteBatch batch;
    Status status;
    for (cursor.SeekToFirstEntry(); cursor.Valid() && status.ok();
         cursor.Next()) {
      if (!cursor.Counts() || !Ahead(cursor.entry().version)) continue;
      status = Restamp(cursor, &batch);
      if (status.ok() && batch.Count() >= kBatchEntries) status = Write(&batch);
    }
    if (!status.ok()) return status;
    return cursor.status().ok() ? Write(&batch) : cursor.status();
  }

  Status Restamp(const IndexCursor& cursor, rocksdb::WriteBatch* batch) {
    const Family& family = *cursor.family();
    const std::string key(cursor.key().key);
    StoredEntry fresh = IssuedEntry(fresh_, nullptr);
    if (!cursor.entry().tombstone) {
      std::string value;
      const Status status =
          GetPlain(db_, rocksdb::ReadOptions(), family, key, &value);
      if (!status.ok() && !status.IsNotFound()) return status;
      const bool agrees =
          status.ok() &&
          replica_.reader().hasher().HashPair(
              family.name, key, cursor.entry().version,
              replica_.reader().hasher().HashValue(cursor.entry().version,
                                                   value)) == cursor.Hash();
      if (!agrees) {  // corruption is for the scrub to find
        ++result_->damaged;
        return Status::OK();
      }
      const std::string_view view = value;
      fresh = IssuedEntry(fresh_, &view);
    }
    std::string bytes;
    AppendEntry(&bytes, fresh, replica_.reader().home());
    const std::string_view index_key = cursor.index_key();
    ++result_->restamped;
    return batch->Put(replica_.reader().index(),
                      rocksdb::Slice(index_key.data(), index_key.size()),
                      bytes);
  }

  Status Write(rocksdb::WriteBatch* batch) {
    const Status status = db_->Write(rocksdb::WriteOptions(), batch);
    batch->Clear();
    return status;
  }

  // Writes the lease, from which the clock starts, and the seal, which says
  // that all of this was ours.
  Status Finish() {
    ColumnFamilyHandle* const index = replica_.reader().index();
    rocksdb::WriteBatch batch;
    Status status =
        batch.Put(index, MetaKey(kLeaseRecord), EncodeLease(fresh_.time + 1));
    std::vector<ColumnFamilyHandle*> families;
    for (const Family& family : replica_.table().families()) {
      families.push_back(family.handle());
    }
    // After a flush, what was restamped is not replayed again. It precedes the
    // seal, after which nothing is flushed.
    rocksdb::FlushOptions options;
    options.allow_write_stall = true;  // nobody writes
    if (status.ok()) status = db_->Flush(options, index);
    if (status.ok()) {
      status = WriteSeal(db_, index, families, /*has_digests=*/false, &batch);
    }
    result_->version = {fresh_.time, fresh_.replica};
    return status;
  }

  rocksdb::DB* const db_;
  const OfflineReplica& replica_;
  const uint64_t wall_ms_;
  const uint64_t max_ahead_ms_;
  RestampResult* const result_;
  Version fresh_;
};

// Refuses an older state, or one that lost its log. Nothing is known of a copy
// without a marker.
Status CheckMark(rocksdb::Env* env, const std::string& name,
                 const OfflineReplica& replica) {
  Marker marker;
  const Status status = ReadMarker(env, name, &marker);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok() || marker.Lists(replica.mark())) return status;
  return Refusal(Provenance::kPutBack, name);
}

// Checks whether the database may be restamped, without a change: an opening
// for writing removes traces of others. Sets `*manifest` to the content of
// CURRENT.
Status CheckReadOnly(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    std::string* manifest) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  std::unique_ptr<DirectoryLock> lock;
  Status status = AllFamilies(options, name, column_families, {}, &families);
  if (status.ok()) status = LockDirectory(options.env, name, &lock);
  if (status.ok()) status = CheckMayWrite(name + "/");
  if (!status.ok()) return status;
  *manifest = CurrentManifest(options.env, name);
  UnreplayableRecords unreplayable(families);
  rocksdb::DBOptions reading = options;
  reading.wal_filter = &unreplayable;
  reading.allow_2pc = true;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  status = OpenPlainForReadOnly(reading, name, families, &handles, &db);
  const Status merges = unreplayable.Check(options.env, name);
  if (!status.ok()) {
    return merges.ok() ? NameDamagedFile(status, options.env, name) : merges;
  }
  std::unique_ptr<OfflineReplica> replica;
  status = merges;
  if (status.ok()) {
    status = OfflineReplica::Open(db.get(), handles, replication.cluster_name,
                                  replication.cluster_secret, &replica);
  }
  if (status.ok()) status = CheckMark(options.env, name, *replica);
  replica.reset();
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return status;
}

// Opens the database and puts its OPTIONS file back. After an error the
// database may be open.
Status OpenKeepingOptions(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
    std::vector<ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  KeptOptionsFile options_file(options.env, name);
  Status status = options_file.Read();
  if (status.ok()) status = OpenExisting(options, name, families, handles, db);
  return status.ok() ? options_file.PutBack() : status;
}

// Checks, without a change, that nothing is in the way. `*claim` keeps others
// away from then on.
Status CheckMayRestamp(
    const rocksdb::DBOptions& given, const rocksdb::DBOptions& options,
    const ReplicatedDBOptions& replication, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    std::unique_ptr<DirectoryClaim>* claim) {
  Status status = CheckWalDir(given, name);
  if (status.ok()) {
    Marker marker;
    const bool unmarked = ReadMarker(options.env, name, &marker).IsNotFound();
    status = CheckPathsAreOwn(options, column_families, name,
                              AbsolutePath(options.env, name),
                              unmarked ? Known::kUnmarked : Known::kReplica);
  }
  std::string manifest;
  if (status.ok()) {
    status =
        CheckReadOnly(options, replication, name, column_families, &manifest);
  }
  if (status.ok()) status = DirectoryClaim::Take(options.env, name, claim);
  if (status.ok() && CurrentManifest(options.env, name) != manifest) {
    status = Status::Busy("rocksync: another program has opened " + name,
                          "stop it, then try again");
  }
  return status;
}

}  // namespace

Status ReplicatedDB::Restamp(
    const rocksdb::DBOptions& given, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    RestampResult* result) {
  *result = RestampResult{};
  const rocksdb::DBOptions options = WithLogAtHome(given, name);
  const auto completion =
      std::make_shared<HashCompletionFactory>(replication.cluster_secret);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Status status = CheckNotForked();
  if (status.ok()) status = CheckDatabaseName(name);
  if (status.ok()) status = CheckNoUnfinishedClone(options.env, name);
  if (status.ok()) {
    status = AllFamilies(
        options, name, column_families,
        IndexFamilyOptions(replication, NewIndexMemtable(replication, nullptr),
                           completion),
        &families);
  }
  std::unique_ptr<DirectoryClaim> claim;
  if (status.ok()) {
    status = CheckMayRestamp(given, options, replication, name, column_families,
                             &claim);
  }
  if (!status.ok()) return status;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  status = OpenKeepingOptions(options, name, families, &handles, &db);
  if (db == nullptr) return status;
  std::unique_ptr<OfflineReplica> replica;
  if (status.ok()) {
    status =
        OfflineReplica::OpenToWrite(db.get(), handles, replication.cluster_name,
                                    replication.cluster_secret, &replica);
  }
  if (status.ok()) status = CheckMark(options.env, name, *replica);
  if (status.ok()) {
    completion->Start(replica->table(), replica->identity().home_id);
    status = Restamping(db.get(), *replica, options.env->NowMicros() / 1000,
                        replication.max_clock_ahead_ms, result)
                 .Run();
  }
  replica.reset();
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  const Status closed = db->Close();
  return status.ok() ? closed : status;
}

}  // namespace rocksync

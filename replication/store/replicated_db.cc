#include "rocksync/replicated_db.h"

#include <utility>

#include "replication/base/forked.h"
#include "replication/base/rocksdb_errors.h"
#include "replication/base/status.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/store.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/write/callback_scope.h"
#include "replication/store/write/refusals.h"
#include "rocksdb/utilities/replayer.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::ColumnFamilyOptions;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;

Status Refuse(const std::string& what, const std::string& remedy) {
  return Status::NotSupported("rocksync: " + what + " on a replicated family",
                              remedy);
}

Status NoChange() {
  return Status::InvalidArgument("rocksync: Update without a function",
                                 "give one that says what is to be written");
}

}  // namespace

ReplicatedDB::ReplicatedDB(rocksdb::DB* db, std::unique_ptr<Store> store)
    : VersionSpecificDB(db), store_(std::move(store)) {}

ReplicatedDB::~ReplicatedDB() {
  if (InForkedChild()) {
    // The database's threads are not here, and its files are the parent's:
    // nothing can be released.
    (void)store_.release();
    db_ = nullptr;
    return;
  }
  store_->claim()->StopHolder();
  store_->Close().PermitUncheckedError();
  // RocksDB releases its lock here, while the claim still keeps others in this
  // process from taking the directory.
  db_->Close().PermitUncheckedError();
}

Status ReplicatedDB::Open(const rocksdb::Options& options,
                          const ReplicatedDBOptions& replication,
                          const std::string& name, ReplicatedDB** db) {
  std::vector<ColumnFamilyHandle*> handles;
  const Status status =
      Open(rocksdb::DBOptions(options), replication, name,
           {{rocksdb::kDefaultColumnFamilyName, ColumnFamilyOptions(options)}},
           &handles, db);
  // The database keeps a handle of its own, as in rocksdb::DB::Open.
  if (status.ok()) (*db)->DestroyColumnFamilyHandle(handles[0]);
  return status;
}

Status ReplicatedDB::Open(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& column_families,
    std::vector<ColumnFamilyHandle*>* handles, ReplicatedDB** db) {
  return StoreAccess::Open(options, replication, name, column_families, handles,
                           Timers::kThreads, db);
}

Status ReplicatedDB::CheckClose(uint64_t iterators) const {
  return store_->CheckClosable(iterators);
}

Status ReplicatedDB::Close() {
  const Status closable = store_->CheckClosable();
  if (!closable.ok()) return closable;
  const Status sealed = store_->Close();
  const Status closed = db_->Close();
  if (!closed.IsAborted()) store_->ReleaseDirectory();  // else it stays open
  return closed.ok() ? NameDamagedFile(sealed, GetEnv(), GetName()) : closed;
}

rocksdb::Iterator* ReplicatedDB::NewIterator(
    const rocksdb::ReadOptions& options, ColumnFamilyHandle* family) {
  rocksdb::Iterator* const iterator = db_->NewIterator(options, family);
  store_->Hold(iterator);
  return iterator;
}

Status ReplicatedDB::NewIterators(
    const rocksdb::ReadOptions& options,
    const std::vector<ColumnFamilyHandle*>& families,
    std::vector<rocksdb::Iterator*>* iterators) {
  const Status status = db_->NewIterators(options, families, iterators);
  if (!status.ok()) return status;
  for (rocksdb::Iterator* iterator : *iterators) store_->Hold(iterator);
  return status;
}

Status ReplicatedDB::GetUpdatesSince(
    rocksdb::SequenceNumber from,
    std::unique_ptr<rocksdb::TransactionLogIterator>* iterator,
    const rocksdb::TransactionLogIterator::ReadOptions& options) {
  const Status status = db_->GetUpdatesSince(from, iterator, options);
  if (status.ok()) *iterator = store_->Hold(std::move(*iterator));
  return status;
}

std::vector<std::string> ReplicatedDB::ReplicatedFamilies() const {
  std::vector<std::string> names;
  const FamiliesInUse now = store_->indexed()->families();
  for (const Family& family : now->families()) {
    names.push_back(family.name);
  }
  return names;
}

const ReplicatedDBOptions& ReplicatedDB::replication_options() const {
  return store_->indexed()->options();
}

ReplicaIdentity ReplicatedDB::Identity() const {
  return store_->indexed()->identity();
}

Status ReplicatedDB::SetMembers(uint64_t epoch,
                                const std::vector<uint64_t>& replica_ids) {
  Status status = store_->indexed()->CheckOpen();
  if (status.ok()) status = CheckNotInCallback(store_->indexed());
  return status.ok() ? store_->membership()->SetMembers(epoch, replica_ids)
                     : status;
}

Status ReplicatedDB::CollectTombstones() {
  Status status = store_->indexed()->CheckOpen();
  if (status.ok()) status = CheckNotInCallback(store_->indexed());
  return status.ok() ? store_->membership()->Advance() : status;
}

Status ReplicatedDB::Subscribe(const ChangeFeedOptions& options,
                               std::unique_ptr<ChangeFeed>* feed) {
  return store_->indexed()->feeds()->Subscribe(options, feed);
}

TombstoneGcStats ReplicatedDB::GetTombstoneGcStats() const {
  return store_->tombstone_gc_stats();
}

namespace {

// Says why RocksDB takes no writes, and what ends that. An error of this
// library names the remedy itself.
std::string WritesStoppedText(const Status& stopped) {
  const std::string text = stopped.ToString();
  return IsOurError(stopped) ? text : text + "; " + StorageRemedy(stopped);
}

}  // namespace

DiskSpaceStats ReplicatedDB::GetDiskSpaceStats() const {
  IndexedDB* const indexed = store_->indexed();
  DiskSpaceStats stats = indexed->space()->Now(indexed->WallMs());
  const Status stopped = indexed->counted()->WritesStopped();
  if (!stopped.ok()) stats.write_error = WritesStoppedText(stopped);
  stats.log_batches_dropped = store_->log_batches_dropped();
  return stats;
}

IndexBuildProgress ReplicatedDB::GetIndexBuildProgress() const {
  return store_->index_build()->Progress();
}

Status ReplicatedDB::WaitForIndexBuild(uint64_t timeout_ms) const {
  const Status status = CheckMayWait(store_->indexed(), "WaitForIndexBuild");
  return status.ok() ? store_->index_build()->Wait(timeout_ms) : status;
}

IndexStats ReplicatedDB::GetIndexStats() const { return store_->stats(); }

Status ReplicatedDB::DeleteRangeInChunks(const WriteOptions& options,
                                         ColumnFamilyHandle* family,
                                         const Slice& begin_key,
                                         const Slice& end_key,
                                         uint64_t* deleted) {
  return store_->range_deleter()->DeleteInChunks(options, family, begin_key,
                                                 end_key, deleted);
}

Status ReplicatedDB::Update(
    const WriteOptions& options, const std::vector<UpdatedKey>& keys,
    const std::function<Status(std::vector<std::optional<std::string>>*)>&
        change) {
  if (!change) return NoChange();
  return store_->key_update()->Run(options, keys, change);
}

Status ReplicatedDB::Update(
    const WriteOptions& options, ColumnFamilyHandle* family, const Slice& key,
    const std::function<Status(std::optional<std::string>*)>& change) {
  if (!change) return NoChange();
  return Update(options, {{family, key}},
                [&](auto* values) { return change(&values->front()); });
}

// Writes.

Status ReplicatedDB::Put(const WriteOptions& options,
                         ColumnFamilyHandle* family, const Slice& key,
                         const Slice& value) {
  return store_->writer()->WriteOne(options, family, key, &value);
}

Status ReplicatedDB::Delete(const WriteOptions& options,
                            ColumnFamilyHandle* family, const Slice& key) {
  return store_->writer()->WriteOne(options, family, key, nullptr);
}

Status ReplicatedDB::SingleDelete(const WriteOptions& options,
                                  ColumnFamilyHandle* family,
                                  const Slice& key) {
  if (store_->families()->Replicates(family)) {
    return store_->writer()->WriteOne(options, family, key, nullptr);
  }
  const Status known = CheckKnown(family);
  return known.ok()
             ? store_->indexed()->db()->SingleDelete(options, family, key)
             : known;
}

Status ReplicatedDB::DeleteRange(const WriteOptions& options,
                                 ColumnFamilyHandle* family,
                                 const Slice& begin_key, const Slice& end_key) {
  Status status = CheckKnown(family);
  rocksdb::WriteBatch batch;
  if (status.ok()) status = batch.DeleteRange(family, begin_key, end_key);
  return status.ok() ? store_->writer()->WriteMany(options, &batch) : status;
}

Status ReplicatedDB::Merge(const WriteOptions& options,
                           ColumnFamilyHandle* family, const Slice& key,
                           const Slice& value) {
  Status status = CheckKnown(family);
  rocksdb::WriteBatch batch;
  if (status.ok()) status = batch.Merge(family, key, value);
  return status.ok() ? store_->writer()->WriteMany(options, &batch) : status;
}

Status ReplicatedDB::Write(const WriteOptions& options,
                           rocksdb::WriteBatch* batch) {
  return store_->writer()->WriteMany(options, batch);
}

// Calls that are refused on a replicated family.

Status ReplicatedDB::CheckNotReplicated(ColumnFamilyHandle* family,
                                        const std::string& call,
                                        const std::string& remedy) const {
  return store_->families()->Replicates(family) ? Refuse(call, remedy)
                                                : CheckKnown(family);
}

Status ReplicatedDB::CheckSetOptions(
    ColumnFamilyHandle* family,
    const std::unordered_map<std::string, std::string>& options) const {
  const Status here = CheckMayWriteHere();
  if (!here.ok()) return here;
  const FamiliesInUse now = store_->indexed()->families();
  const Family* const replicated = store_->families()->Find(*now, family);
  if (replicated == nullptr) return CheckKnown(family);
  return CheckChangedOptions(replication_options(), replicated->name,
                             db_->GetDBOptions(), db_->GetOptions(family),
                             options);
}

void ReplicatedDB::Hold(rocksdb::Cleanable* iterator) {
  store_->Hold(iterator);
}

CountedDB* ReplicatedDB::Counted() const {
  return store_->indexed()->counted();
}

Status ReplicatedDB::Put(const WriteOptions& options,
                         ColumnFamilyHandle* family, const Slice& key,
                         const Slice& ts, const Slice& value) {
  const Status status =
      CheckNotReplicated(family, "Put with a timestamp", "use Put without one");
  return status.ok() ? Counted()->Put(options, family, key, ts, value) : status;
}

Status ReplicatedDB::Delete(const WriteOptions& options,
                            ColumnFamilyHandle* family, const Slice& key,
                            const Slice& ts) {
  const Status status = CheckNotReplicated(family, "Delete with a timestamp",
                                           "use Delete without one");
  return status.ok() ? Counted()->Delete(options, family, key, ts) : status;
}

Status ReplicatedDB::SingleDelete(const WriteOptions& options,
                                  ColumnFamilyHandle* family, const Slice& key,
                                  const Slice& ts) {
  const Status status = CheckNotReplicated(
      family, "SingleDelete with a timestamp", "use Delete without one");
  return status.ok() ? Counted()->SingleDelete(options, family, key, ts)
                     : status;
}

Status ReplicatedDB::DeleteRange(const WriteOptions& options,
                                 ColumnFamilyHandle* family,
                                 const Slice& begin_key, const Slice& end_key,
                                 const Slice& ts) {
  const Status status = CheckNotReplicated(
      family, "DeleteRange with a timestamp", "use DeleteRange without one");
  return status.ok()
             ? Counted()->Count(options, 1,
                                [&] {
                                  return db_->DeleteRange(
                                      options, family, begin_key, end_key, ts);
                                })
             : status;
}

Status ReplicatedDB::Merge(const WriteOptions& options,
                           ColumnFamilyHandle* family, const Slice& key,
                           const Slice& ts, const Slice& value) {
  const Status status = CheckNotReplicated(family, "Merge with a timestamp",
                                           "use Merge without one");
  return status.ok()
             ? Counted()->Count(
                   options, 1,
                   [&] { return db_->Merge(options, family, key, ts, value); })
             : status;
}

Status ReplicatedDB::PutEntity(const WriteOptions& options,
                               ColumnFamilyHandle* family, const Slice& key,
                               const rocksdb::WideColumns& columns) {
  const Status status = CheckNotReplicated(
      family, "PutEntity", "encode the columns into a value and use Put");
  return status.ok() ? Counted()->PutEntity(options, family, key, columns)
                     : status;
}

Status ReplicatedDB::IngestExternalFile(
    ColumnFamilyHandle* family, const std::vector<std::string>& files,
    const rocksdb::IngestExternalFileOptions& options) {
  const Status status =
      CheckNotReplicated(family, "IngestExternalFile",
                         "read the file with SstFileReader and Put its pairs");
  return status.ok() ? Counted()->IngestExternalFile(family, files, options)
                     : status;
}

Status ReplicatedDB::IngestExternalFiles(
    const std::vector<rocksdb::IngestExternalFileArg>& args) {
  for (const rocksdb::IngestExternalFileArg& arg : args) {
    const Status status = CheckNotReplicated(
        arg.column_family, "IngestExternalFiles",
        "read the files with SstFileReader and Put their pairs");
    if (!status.ok()) return status;
  }
  return Counted()->IngestExternalFiles(args);
}

Status ReplicatedDB::NewDefaultReplayer(
    const std::vector<ColumnFamilyHandle*>&,
    std::unique_ptr<rocksdb::TraceReader>&&,
    std::unique_ptr<rocksdb::Replayer>* replayer) {
  replayer->reset();
  return Refuse("NewDefaultReplayer",
                "replay the trace on a plain database, or Write its batches");
}

Status ReplicatedDB::CompactFiles(
    const rocksdb::CompactionOptions& options, ColumnFamilyHandle* family,
    const std::vector<std::string>& input_file_names, int output_level,
    int output_path_id, std::vector<std::string>* output_file_names,
    rocksdb::CompactionJobInfo* info) {
  const Status known = CheckKnown(family);
  if (!known.ok()) return known;
  rocksdb::CompactionJobInfo scratch;
  if (info == nullptr) info = &scratch;
  FileWatch::Compacting compacting(store_->files());
  const Status status =
      db_->CompactFiles(options, family, input_file_names, output_level,
                        output_path_id, output_file_names, info);
  std::vector<uint64_t> inputs;
  for (const rocksdb::CompactionFileInfo& file : info->input_file_infos) {
    inputs.push_back(file.file_number);
  }
  compacting.Done(family->GetID(), inputs);
  return status;
}

// Calls that do not change data.

Status ReplicatedDB::CheckOpen() const {
  return store_->indexed()->CheckOpen();
}

Status ReplicatedDB::CheckKnown(ColumnFamilyHandle* family) const {
  return store_->families()->CheckKnown(family);
}

Status ReplicatedDB::CompactRange(const rocksdb::CompactRangeOptions& options,
                                  ColumnFamilyHandle* family,
                                  const Slice* begin, const Slice* end) {
  const Status known = CheckKnown(family);
  return known.ok() ? db_->CompactRange(options, family, begin, end) : known;
}

Status ReplicatedDB::SuggestCompactRange(ColumnFamilyHandle* family,
                                         const Slice* begin, const Slice* end) {
  const Status known = CheckKnown(family);
  return known.ok() ? db_->SuggestCompactRange(family, begin, end) : known;
}

Status ReplicatedDB::PromoteL0(ColumnFamilyHandle* family, int target_level) {
  const Status known = CheckKnown(family);
  return known.ok() ? db_->PromoteL0(family, target_level) : known;
}

Status ReplicatedDB::IncreaseFullHistoryTsLow(ColumnFamilyHandle* family,
                                              std::string ts_low) {
  const Status known = CheckKnown(family);
  return known.ok() ? db_->IncreaseFullHistoryTsLow(family, std::move(ts_low))
                    : known;
}

Status ReplicatedDB::EnableAutoCompaction(
    const std::vector<ColumnFamilyHandle*>& families) {
  for (ColumnFamilyHandle* family : families) {
    const Status known = CheckKnown(family);
    if (!known.ok()) return known;
  }
  return db_->EnableAutoCompaction(families);
}

Status ReplicatedDB::Flush(const rocksdb::FlushOptions& options,
                           ColumnFamilyHandle* family) {
  return Flush(options, std::vector<ColumnFamilyHandle*>{family});
}

Status ReplicatedDB::Flush(const rocksdb::FlushOptions& options,
                           const std::vector<ColumnFamilyHandle*>& families) {
  // If the log has failed, RocksDB would try to switch it, and would give up
  // its recovery when that fails.
  const Status writable = Counted()->LogStatus();
  if (!writable.ok()) return writable;
  for (ColumnFamilyHandle* family : families) {
    const Status known = CheckKnown(family);
    if (!known.ok()) return known;
  }
  if (!db_->GetDBOptions().atomic_flush) return db_->Flush(options, families);
  std::vector<ColumnFamilyHandle*> all = families;
  all.push_back(store_->indexed()->reader().index());
  return db_->Flush(options, all);
}

Status ReplicatedDB::Resume() {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->Resume() : here;
}

Status ReplicatedDB::FlushWAL(bool sync) {
  const Status open = store_->indexed()->CheckOpen();
  return open.ok() ? Counted()->FlushWAL(sync) : open;
}

Status ReplicatedDB::SyncWAL() {
  const Status open = store_->indexed()->CheckOpen();
  return open.ok() ? Counted()->SyncWAL() : open;
}

Status ReplicatedDB::SetDBOptions(
    const std::unordered_map<std::string, std::string>& options) {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->SetDBOptions(options) : here;
}

Status ReplicatedDB::PauseBackgroundWork() {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->PauseBackgroundWork() : here;
}

Status ReplicatedDB::ContinueBackgroundWork() {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->ContinueBackgroundWork() : here;
}

Status ReplicatedDB::LockWAL() {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->LockWAL() : here;
}

Status ReplicatedDB::UnlockWAL() {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->UnlockWAL() : here;
}

Status ReplicatedDB::DisableFileDeletions() {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->DisableFileDeletions() : here;
}

Status ReplicatedDB::GetLiveFiles(std::vector<std::string>& files,
                                  uint64_t* manifest_bytes,
                                  bool flush_memtable) {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->GetLiveFiles(files, manifest_bytes, flush_memtable)
                   : here;
}

Status ReplicatedDB::GetLiveFilesStorageInfo(
    const rocksdb::LiveFilesStorageInfoOptions& options,
    std::vector<rocksdb::LiveFileStorageInfo>* files) {
  const Status here = CheckMayWriteHere();
  return here.ok() ? db_->GetLiveFilesStorageInfo(options, files) : here;
}

void ReplicatedDB::GetAllColumnFamilyMetaData(
    std::vector<rocksdb::ColumnFamilyMetaData>* metadata) {
  db_->GetAllColumnFamilyMetaData(metadata);
}

Status ReplicatedDB::GetStatsHistory(
    uint64_t start_time, uint64_t end_time,
    std::unique_ptr<rocksdb::StatsHistoryIterator>* iterator) {
  return db_->GetStatsHistory(start_time, end_time, iterator);
}

// The calls about column families are in replicated_db_families.cc.

}  // namespace rocksync

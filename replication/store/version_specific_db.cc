#include "rocksync/version_specific_db.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replication/base/forked.h"
#include "replication/store/write/counted_db.h"

namespace rocksync {

using rocksdb::ColumnFamilyHandle;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

using OptionsOfFamilies =
    std::unordered_map<ColumnFamilyHandle*,
                       std::unordered_map<std::string, std::string>>;

template <typename Database>
Status SetOptionsOfFamilies(Database* db, const OptionsOfFamilies& options) {
  if constexpr (requires { db->SetOptions(options); }) {
    return db->SetOptions(options);
  } else {
    for (const auto& [family, of_family] : options) {
      const Status status = db->SetOptions(family, of_family);
      if (!status.ok()) return status;
    }
    return Status::OK();
  }
}

template <typename Database>
Status EnableDeletionOfFiles(Database* db, bool force) {
  if constexpr (requires { db->EnableFileDeletions(force); }) {
    return db->EnableFileDeletions(force);
  } else {
    return db->EnableFileDeletions();
  }
}

}  // namespace

bool VersionSpecificDB::KeyMayExist(const ReadOptions& options,
                                    ColumnFamilyHandle* family,
                                    const Slice& key, std::string* value,
                                    std::string* timestamp, bool* value_found) {
  return db_->KeyMayExist(options, family, key, value, timestamp, value_found);
}

#if !ROCKSYNC_ROCKSDB_AT_LEAST(9, 0)
Status VersionSpecificDB::Get(const ReadOptions& options,
                              ColumnFamilyHandle* family, const Slice& key,
                              rocksdb::PinnableSlice* value,
                              std::string* timestamp) {
  return db_->Get(options, family, key, value, timestamp);
}

std::vector<Status> VersionSpecificDB::MultiGet(
    const ReadOptions& options,
    const std::vector<ColumnFamilyHandle*>& families,
    const std::vector<Slice>& keys, std::vector<std::string>* values,
    std::vector<std::string>* timestamps) {
  return db_->MultiGet(options, families, keys, values, timestamps);
}

void VersionSpecificDB::MultiGet(const ReadOptions& options,
                                 ColumnFamilyHandle* family, size_t num_keys,
                                 const Slice* keys,
                                 rocksdb::PinnableSlice* values,
                                 std::string* timestamps, Status* statuses,
                                 bool sorted_input) {
  db_->MultiGet(options, family, num_keys, keys, values, timestamps, statuses,
                sorted_input);
}

void VersionSpecificDB::MultiGet(const ReadOptions& options, size_t num_keys,
                                 ColumnFamilyHandle** families,
                                 const Slice* keys,
                                 rocksdb::PinnableSlice* values,
                                 Status* statuses, bool sorted_input) {
  db_->MultiGet(options, num_keys, families, keys, values, statuses,
                sorted_input);
}

void VersionSpecificDB::MultiGet(const ReadOptions& options, size_t num_keys,
                                 ColumnFamilyHandle** families,
                                 const Slice* keys,
                                 rocksdb::PinnableSlice* values,
                                 std::string* timestamps, Status* statuses,
                                 bool sorted_input) {
  db_->MultiGet(options, num_keys, families, keys, values, timestamps, statuses,
                sorted_input);
}
#endif

Status VersionSpecificDB::DeleteFile(std::string name) {
  return Status::NotSupported(
      "rocksync: DeleteFile " + name + " on a replicated database",
      "use DeleteRange");
}

Status VersionSpecificDB::DEPRECATED_DeleteFile(std::string name) {
  return VersionSpecificDB::DeleteFile(std::move(name));
}

Status VersionSpecificDB::EnableFileDeletions(bool force) {
  const Status here = CheckMayWriteHere();
  return here.ok() ? EnableDeletionOfFiles(db_, force) : here;
}

Status VersionSpecificDB::EnableFileDeletions() {
  return VersionSpecificDB::EnableFileDeletions(/*force=*/true);
}

Status VersionSpecificDB::WriteWithCallback(const rocksdb::WriteOptions&,
                                            rocksdb::WriteBatch*,
                                            rocksdb::UserWriteCallback*) {
  return Status::NotSupported(
      "rocksync: WriteWithCallback on a replicated database",
      "use Write, or Update for what depends on what is there");
}

Status VersionSpecificDB::IngestWriteBatchWithIndex(
    const rocksdb::WriteOptions&,
    std::shared_ptr<rocksdb::WriteBatchWithIndex>) {
  return Status::NotSupported(
      "rocksync: IngestWriteBatchWithIndex on a replicated database",
      "use Write with the batch's GetWriteBatch()");
}

Status VersionSpecificDB::SetOptions(
    ColumnFamilyHandle* family,
    const std::unordered_map<std::string, std::string>& options) {
  const Status status = CheckSetOptions(family, options);
  return status.ok() ? db_->SetOptions(family, options) : status;
}

Status VersionSpecificDB::SetOptions(const OptionsOfFamilies& options) {
  for (const auto& [family, of_family] : options) {
    const Status status = CheckSetOptions(family, of_family);
    if (!status.ok()) return status;
  }
  return SetOptionsOfFamilies(db_, options);
}

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 9)
Status VersionSpecificDB::PutEntity(const rocksdb::WriteOptions& options,
                                    const Slice& key,
                                    const rocksdb::AttributeGroups& groups) {
  for (const rocksdb::AttributeGroup& group : groups) {
    const Status status =
        CheckNotReplicated(group.column_family(), "PutEntity",
                           "encode the columns into values and use Put");
    if (!status.ok()) return status;
  }
  return Counted()->Count(options, groups.size(),
                          [&] { return db_->PutEntity(options, key, groups); });
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 3)
Status VersionSpecificDB::ClipColumnFamily(ColumnFamilyHandle* family,
                                           const Slice& begin_key,
                                           const Slice& end_key) {
  const Status status =
      CheckNotReplicated(family, "ClipColumnFamily",
                         "delete what is outside with DeleteRangeInChunks");
  // RocksDB writes as many range deletions as it needs, so they are counted
  // after.
  return status.ok() ? Counted()->Alone([&] {
    return db_->ClipColumnFamily(family, begin_key, end_key);
  })
                     : status;
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 4)
Status VersionSpecificDB::CreateColumnFamilyWithImport(
    const rocksdb::ColumnFamilyOptions& options, const std::string& name,
    const rocksdb::ImportColumnFamilyOptions& import_options,
    const std::vector<const rocksdb::ExportImportFilesMetaData*>& metadata,
    ColumnFamilyHandle** handle) {
  return Import(
      options, name,
      [&] {
        return db_->CreateColumnFamilyWithImport(options, name, import_options,
                                                 metadata, handle);
      },
      handle);
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 5)
Status VersionSpecificDB::PrepareFileIngestion(
    const std::vector<rocksdb::IngestExternalFileArg>& args,
    std::unique_ptr<rocksdb::FileIngestionHandle>* handle) {
  if (handle == nullptr) {
    return Status::InvalidArgument(
        "rocksync: PrepareFileIngestion has nowhere to put its handle");
  }
  handle->reset();
  for (const rocksdb::IngestExternalFileArg& arg : args) {
    const Status status = CheckNotReplicated(
        arg.column_family, "PrepareFileIngestion",
        "read the files with SstFileReader and Put their pairs");
    if (!status.ok()) return status;
  }
  return db_->PrepareFileIngestion(args, handle);
}

Status VersionSpecificDB::CommitFileIngestionHandles(
    std::vector<std::unique_ptr<rocksdb::FileIngestionHandle>> handles) {
  return Counted()->Ingest(
      [&] { return db_->CommitFileIngestionHandles(std::move(handles)); });
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 9)
void VersionSpecificDB::AbortCompactions(ColumnFamilyHandle* family) {
  if (CheckKnown(family).ok()) db_->AbortCompactions(family);
}

void VersionSpecificDB::ResumeCompactions(ColumnFamilyHandle* family) {
  if (CheckKnown(family).ok()) db_->ResumeCompactions(family);
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 2)
std::unique_ptr<rocksdb::Iterator> VersionSpecificDB::NewCoalescingIterator(
    const ReadOptions& options,
    const std::vector<ColumnFamilyHandle*>& families) {
  auto iterator = db_->NewCoalescingIterator(options, families);
  Hold(iterator.get());
  return iterator;
}

std::unique_ptr<rocksdb::AttributeGroupIterator>
VersionSpecificDB::NewAttributeGroupIterator(
    const ReadOptions& options,
    const std::vector<ColumnFamilyHandle*>& families) {
  auto iterator = db_->NewAttributeGroupIterator(options, families);
  Hold(iterator.get());
  return iterator;
}
#endif

#ifdef ROCKSYNC_HAS_MULTI_SCAN
// Makes the scan as RocksDB does, but with the iterators of this database,
// which are counted: a scan is no iterator itself.
std::unique_ptr<rocksdb::MultiScan> VersionSpecificDB::NewMultiScan(
    const ReadOptions& options, ColumnFamilyHandle* family,
    MultiScanRanges ranges) {
  return std::make_unique<rocksdb::MultiScan>(options, ranges, this, family);
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(10, 8)
Status VersionSpecificDB::FlushWAL(const rocksdb::FlushWALOptions& options) {
  Status writable = CheckOpen();
  if (writable.ok()) writable = Counted()->LogStatus();
  return writable.ok() ? db_->FlushWAL(options) : writable;
}
#endif

}  // namespace rocksync

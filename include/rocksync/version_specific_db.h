// The calls of rocksdb::DB that not every version of RocksDB has, or passes
// through a StackableDB.

#ifndef ROCKSYNC_VERSION_SPECIFIC_DB_H_
#define ROCKSYNC_VERSION_SPECIFIC_DB_H_

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksync/rocksdb_version.h"
#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 9)
#include "rocksdb/attribute_groups.h"
#endif
#if __has_include("rocksdb/multi_scan.h")
#define ROCKSYNC_HAS_MULTI_SCAN
#include "rocksdb/multi_scan.h"
#endif

namespace rocksdb {
class UserWriteCallback;
class WriteBatchWithIndex;
}  // namespace rocksdb

namespace rocksync {

class CountedDB;

#ifdef ROCKSYNC_HAS_MULTI_SCAN
// What NewMultiScan takes: its type has changed between versions.
template <typename Scan, typename Ranges>
Ranges RangesOf(Scan (rocksdb::StackableDB::*)(const rocksdb::ReadOptions&,
                                               rocksdb::ColumnFamilyHandle*,
                                               Ranges));
using MultiScanRanges = decltype(RangesOf(&rocksdb::StackableDB::NewMultiScan));
#endif

// A part of ReplicatedDB, which an application uses instead. Each of these
// calls that changes data returns NotSupported for a replicated family, with a
// message that names the remedy, and is RocksDB's own for any other family.
// Thread-safe.
class VersionSpecificDB : public rocksdb::StackableDB {
 public:
  // Reads that StackableDB leaves to defaults of rocksdb::DB, which know no
  // timestamps and look keys up one by one.
  using StackableDB::KeyMayExist;
  bool KeyMayExist(const rocksdb::ReadOptions& options,
                   rocksdb::ColumnFamilyHandle* family,
                   const rocksdb::Slice& key, std::string* value,
                   std::string* timestamp, bool* value_found) override;
#if !ROCKSYNC_ROCKSDB_AT_LEAST(9, 0)
  using StackableDB::Get;
  rocksdb::Status Get(const rocksdb::ReadOptions& options,
                      rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::Slice& key, rocksdb::PinnableSlice* value,
                      std::string* timestamp) override;
  using StackableDB::MultiGet;
  std::vector<rocksdb::Status> MultiGet(
      const rocksdb::ReadOptions& options,
      const std::vector<rocksdb::ColumnFamilyHandle*>& families,
      const std::vector<rocksdb::Slice>& keys, std::vector<std::string>* values,
      std::vector<std::string>* timestamps) override;
  void MultiGet(const rocksdb::ReadOptions& options,
                rocksdb::ColumnFamilyHandle* family, size_t num_keys,
                const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
                std::string* timestamps, rocksdb::Status* statuses,
                bool sorted_input) override;
  void MultiGet(const rocksdb::ReadOptions& options, size_t num_keys,
                rocksdb::ColumnFamilyHandle** families,
                const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
                rocksdb::Status* statuses, bool sorted_input) override;
  void MultiGet(const rocksdb::ReadOptions& options, size_t num_keys,
                rocksdb::ColumnFamilyHandle** families,
                const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
                std::string* timestamps, rocksdb::Status* statuses,
                bool sorted_input) override;
#endif

  // Refused for any file: it may hold pairs of any family. (RocksDB renamed the
  // function in 9.11, and removed it later; without `override` this compiles
  // with all of them.)
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winconsistent-missing-override"
#endif
  virtual rocksdb::Status DeleteFile(std::string name);
  virtual rocksdb::Status DEPRECATED_DeleteFile(std::string name);

  // Refused for a replicated family: what ReplicatedDB::Open would refuse
  // there. Newer versions can change a table_factory while the database is
  // open. (The second one is RocksDB's in newer versions alone; in others it
  // sets the options of one family after the other.)
  using StackableDB::SetOptions;
  virtual rocksdb::Status SetOptions(
      rocksdb::ColumnFamilyHandle* family,
      const std::unordered_map<std::string, std::string>& options);
  virtual rocksdb::Status SetOptions(
      const std::unordered_map<rocksdb::ColumnFamilyHandle*,
                               std::unordered_map<std::string, std::string>>&
          options);

  // Refused: RocksDB takes these batches past the call that the index is
  // written with. (Older versions have neither.)
  virtual rocksdb::Status WriteWithCallback(
      const rocksdb::WriteOptions& options, rocksdb::WriteBatch* updates,
      rocksdb::UserWriteCallback* callback);
  virtual rocksdb::Status IngestWriteBatchWithIndex(
      const rocksdb::WriteOptions& options,
      std::shared_ptr<rocksdb::WriteBatchWithIndex> batch);

  // Refused in a child of fork, whose parent's files it would delete. (Each
  // version of RocksDB has one of the two.)
  virtual rocksdb::Status EnableFileDeletions(bool force);
  virtual rocksdb::Status EnableFileDeletions();
#pragma GCC diagnostic pop

  using StackableDB::PutEntity;
#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 9)
  // Refused if one of the groups is of a replicated family.
  rocksdb::Status PutEntity(const rocksdb::WriteOptions& options,
                            const rocksdb::Slice& key,
                            const rocksdb::AttributeGroups& groups) override;
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 3)
  rocksdb::Status ClipColumnFamily(rocksdb::ColumnFamilyHandle* family,
                                   const rocksdb::Slice& begin_key,
                                   const rocksdb::Slice& end_key) override;
#endif

  using StackableDB::CreateColumnFamilyWithImport;
#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 4)
  rocksdb::Status CreateColumnFamilyWithImport(
      const rocksdb::ColumnFamilyOptions& options, const std::string& name,
      const rocksdb::ImportColumnFamilyOptions& import_options,
      const std::vector<const rocksdb::ExportImportFilesMetaData*>& metadata,
      rocksdb::ColumnFamilyHandle** handle) override;
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 5)
  using StackableDB::PrepareFileIngestion;
  rocksdb::Status PrepareFileIngestion(
      const std::vector<rocksdb::IngestExternalFileArg>& args,
      std::unique_ptr<rocksdb::FileIngestionHandle>* handle) override;
  using StackableDB::CommitFileIngestionHandles;
  rocksdb::Status CommitFileIngestionHandles(
      std::vector<std::unique_ptr<rocksdb::FileIngestionHandle>> handles)
      override;
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(10, 8)
  using StackableDB::FlushWAL;
  rocksdb::Status FlushWAL(const rocksdb::FlushWALOptions& options) override;
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 9)
  // Of a handle of another database nothing: they return no status.
  void AbortCompactions(rocksdb::ColumnFamilyHandle* family) override;
  void ResumeCompactions(rocksdb::ColumnFamilyHandle* family) override;
#endif

  // As RocksDB's; Close knows how many iterators are held.
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 2)
  using StackableDB::NewCoalescingIterator;
  std::unique_ptr<rocksdb::Iterator> NewCoalescingIterator(
      const rocksdb::ReadOptions& options,
      const std::vector<rocksdb::ColumnFamilyHandle*>& families) override;
  using StackableDB::NewAttributeGroupIterator;
  std::unique_ptr<rocksdb::AttributeGroupIterator> NewAttributeGroupIterator(
      const rocksdb::ReadOptions& options,
      const std::vector<rocksdb::ColumnFamilyHandle*>& families) override;
#endif
#ifdef ROCKSYNC_HAS_MULTI_SCAN
  using StackableDB::NewMultiScan;
  std::unique_ptr<rocksdb::MultiScan> NewMultiScan(
      const rocksdb::ReadOptions& options, rocksdb::ColumnFamilyHandle* family,
      MultiScanRanges ranges) override;
#endif

 protected:
  using StackableDB::StackableDB;

  // OK: it is open, and in the process that opened it.
  virtual rocksdb::Status CheckOpen() const = 0;
  // OK: the handle is of a family of this database.
  virtual rocksdb::Status CheckKnown(
      rocksdb::ColumnFamilyHandle* family) const = 0;
  // OK: `call` may go on to RocksDB, as the family is not replicated.
  virtual rocksdb::Status CheckNotReplicated(
      rocksdb::ColumnFamilyHandle* family, const std::string& call,
      const std::string& remedy) const = 0;
  // OK: a family may have the options that it would have with these.
  virtual rocksdb::Status CheckSetOptions(
      rocksdb::ColumnFamilyHandle* family,
      const std::unordered_map<std::string, std::string>& options) const = 0;
  // Counts an iterator until it is deleted, as ReplicatedDB::Close has to know.
  virtual void Hold(rocksdb::Cleanable* iterator) = 0;
  // Counts the sequence numbers that it takes there.
  virtual CountedDB* Counted() const = 0;
  // Makes a family by `import`, unless `name` would be replicated.
  virtual rocksdb::Status Import(const rocksdb::ColumnFamilyOptions& options,
                                 const std::string& name,
                                 const std::function<rocksdb::Status()>& import,
                                 rocksdb::ColumnFamilyHandle** handle) = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_VERSION_SPECIFIC_DB_H_

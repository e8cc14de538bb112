// The calls of rocksdb::DB that not every version of RocksDB has, or passes
// through a StackableDB.

#ifndef ROCKSYNC_VERSION_SPECIFIC_DB_H_
#define ROCKSYNC_VERSION_SPECIFIC_DB_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksync/rocksdb_version.h"
#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 9)
#include "rocksdb/attribute_groups.h"
#endif

namespace rocksync {

class CountedDB;

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

 protected:
  using StackableDB::StackableDB;

  // OK: `call` may go on to RocksDB, as the family is not replicated.
  virtual rocksdb::Status MayPass(rocksdb::ColumnFamilyHandle* family,
                                  const std::string& call,
                                  const std::string& remedy) const = 0;
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

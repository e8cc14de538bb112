// The column families of an open database: which are replicated, what the index
// records of them, and how they are created and dropped.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_FAMILIES_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_FAMILIES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "replication/store/index/family_table.h"
#include "replication/store/index/hash_completion.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"

namespace rocksync {

// The families. They change rarely, with all stripes held. Thread-safe.
class Families {
 public:
  // `records`: those of the replicated families.
  Families(IndexedDB* indexed, std::vector<Family> replicated,
           std::vector<Family> others, std::vector<FamilyRecord> records,
           std::shared_ptr<HashCompletionFactory> completion);

  bool IsReplicated(uint32_t family_id) const {
    return indexed_->reader().IsReplicated(family_id);
  }
  // Returns the replicated family of this handle. Null if the handle is null,
  // of a family that is not replicated, or of another database: RocksDB
  // compares only the family's id.
  const Family* Find(const FamilyTable& families,
                     rocksdb::ColumnFamilyHandle* handle) const;
  bool Replicates(rocksdb::ColumnFamilyHandle* handle) const;
  // Refuses a family that the library does not know: writes to it would bypass
  // the index if it should be replicated. Also refuses null handles and those
  // of other databases: RocksDB would choose a family by the id, which may be
  // the index's here.
  rocksdb::Status CheckKnown(rocksdb::ColumnFamilyHandle* handle) const;
  bool WouldReplicate(const std::string& name) const;
  rocksdb::Status CheckNew(const std::string& name,
                           const rocksdb::ColumnFamilyOptions& options) const;
  // Adds a family that RocksDB has created. If that cannot be recorded, the
  // handle is kept for another try, and Unfinished returns it. Dropping the
  // family at once would be one more write to a disk that has just failed.
  rocksdb::Status Add(const std::string& name,
                      const rocksdb::ColumnFamilyOptions& options,
                      rocksdb::ColumnFamilyHandle* handle);
  // Returns the handle of the family by that name that could not be recorded,
  // and gives it up; null: there is none.
  rocksdb::ColumnFamilyHandle* Unfinished(const std::string& name);

  // Drops a family in RocksDB and then here, with all stripes held in between:
  // RocksDB stops all writes after one that names a dropped family. So a writer
  // that chooses a family itself checks, under the lock of the key, that the
  // table still has it.
  //
  // The index then still has entries of a replicated family. `purge` has to
  // have them removed, and to write, in one batch, that they will be and
  // `records`, which lack the family: between two writes a crash would leave
  // the entries permanently. Busy: the batch was not written, but the purge
  // goes on.
  using PurgeRequest =
      std::function<rocksdb::Status(const std::vector<FamilyRecord>& records)>;
  rocksdb::Status Drop(rocksdb::ColumnFamilyHandle* handle,
                       const PurgeRequest& purge);
  // The number of drops begun and ended, together: odd during a drop.
  uint64_t drops() const { return drops_; }
  // Whether the family was replicated at some time since the opening, and is
  // not any more. REQUIRES: no stripe is held.
  bool WasDropped(uint32_t family_id);

  // Returns true if this object takes over the handle: it is destroyed once
  // nothing in the library reads through it any more.
  bool GiveBack(rocksdb::ColumnFamilyHandle* handle);

  std::vector<FamilyRecord> records() const;
  // Marks all families as being checked and calls `check` with their records,
  // which do not change meanwhile. With `may_wait` false it never waits, but
  // returns Incomplete.
  rocksdb::Status BeginCheck(
      bool may_wait,
      const std::function<rocksdb::Status(const std::vector<FamilyRecord>&)>&
          check);
  // Records that nothing of the family is left to be read, if `still` returns
  // true. No check can begin meanwhile.
  rocksdb::Status EndCheck(uint32_t family_id,
                           const std::function<bool()>& still);

  // Makes all families unknown. Drops unfinished ones, if that works.
  void Close();

 private:
  // Copies the present families, in order to change them.
  void CopyFamilies(std::vector<Family>* replicated,
                    std::vector<Family>* others) const;
  void SetRecords(std::vector<FamilyRecord> records);
  rocksdb::Status Write(const std::vector<FamilyRecord>& records,
                        const rocksdb::WriteOptions& options);
  // Notes whether the family may be absent: durably, or else with the next
  // write of the records.
  rocksdb::Status NoteMayBeAbsent(uint32_t family_id, bool absent,
                                  bool durably);
  rocksdb::Status DropLocked(uint32_t id, rocksdb::ColumnFamilyHandle* handle,
                             const PurgeRequest& purge);
  rocksdb::Status DropAndHide(uint32_t id, rocksdb::ColumnFamilyHandle* handle,
                              bool* gone);
  rocksdb::Status RemoveEntries(uint32_t id, const PurgeRequest& purge);
  bool IsHandleOf(rocksdb::ColumnFamilyHandle* handle,
                  const Family* family) const;
  // Makes these families known. REQUIRES: all stripes are held.
  void Show(std::unique_ptr<const FamilyTable> next,
            std::vector<FamilyRecord> records);
  rocksdb::Status Install(std::vector<Family> families,
                          std::vector<Family> others,
                          std::vector<FamilyRecord> records);

  IndexedDB* const indexed_;
  const std::shared_ptr<HashCompletionFactory> completion_;
  std::mutex mutex_;
  std::set<uint32_t> dropped_;  // families that were replicated, by id
  std::map<std::string, rocksdb::ColumnFamilyHandle*> unfinished_;
  mutable std::mutex records_mutex_;
  // The records of the replicated families, and of dropped ones whose purge is
  // not recorded.
  std::vector<FamilyRecord> records_;
  std::atomic<uint64_t> drops_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_FAMILIES_H_

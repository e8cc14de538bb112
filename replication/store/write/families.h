// The column families of an open database: which are replicated, what is
// recorded of them, and how they come and go.

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

// Families change rarely, with all stripes held. Thread-safe.
class Families {
 public:
  // `records`: of the replicated ones.
  Families(IndexedDB* indexed, std::vector<Family> replicated,
           std::vector<Family> others, std::vector<FamilyRecord> records,
           std::shared_ptr<HashCompletionFactory> completion);

  bool IsReplicated(uint32_t family_id) const {
    return indexed_->reader().IsReplicated(family_id);
  }
  // The replicated family of this handle; null if it is another one's, null, or
  // of another database: RocksDB looks at its number alone.
  const Family* Find(const FamilyTable& families,
                     rocksdb::ColumnFamilyHandle* handle) const;
  bool Replicates(rocksdb::ColumnFamilyHandle* handle) const;
  // Refuses a family that the library does not know: what is written to it
  // would pass the index if it should be replicated. Refuses the handles of
  // other databases, too: RocksDB would take a family by its number, and it may
  // be the index that has this number here. And null ones.
  rocksdb::Status CheckKnown(rocksdb::ColumnFamilyHandle* handle) const;
  bool WouldReplicate(const std::string& name) const;
  rocksdb::Status CheckNew(const std::string& name,
                           const rocksdb::ColumnFamilyOptions& options) const;
  // A family that RocksDB has made. If that cannot be written down, the handle
  // is kept for another try, and Unfinished gives it back: to drop the family
  // at once would be one more write to a disk that has just failed.
  rocksdb::Status Add(const std::string& name,
                      const rocksdb::ColumnFamilyOptions& options,
                      rocksdb::ColumnFamilyHandle* handle);
  // The handle of a family by that name which could not be written down; null:
  // there is none.
  rocksdb::ColumnFamilyHandle* Unfinished(const std::string& name);

  // Has RocksDB drop it, and then removes it here. With all stripes held in
  // between: RocksDB stops all writes after one that names a family which was
  // dropped meanwhile. So whoever writes to a family by his own decision looks,
  // under the lock of the key, whether the table still has it.
  //
  // Of a replicated one the index has entries then. `purge` is to have them
  // removed, and to write in one batch that it will and `records`, which lack
  // the family: between the two writes a crash would leave the entries for
  // good. Busy: it was not written, and the purge goes on all the same.
  using PurgeRequest =
      std::function<rocksdb::Status(const std::vector<FamilyRecord>& records)>;
  rocksdb::Status Drop(rocksdb::ColumnFamilyHandle* handle,
                       const PurgeRequest& purge);
  // Drops begun and ended: odd meanwhile.
  uint64_t drops() const { return drops_; }
  // At some time since the opening it was replicated, and is not any more.
  // REQUIRES: no stripe is held.
  bool WasDropped(uint32_t family_id);

  // True if this object takes care of destroying the handle: once nothing of
  // the library's reads through it any more.
  bool GiveBack(rocksdb::ColumnFamilyHandle* handle);

  std::vector<FamilyRecord> records() const;
  // Marks all families as being checked and calls `check` with their records,
  // which do not change meanwhile. With `may_wait` false it waits for nobody,
  // and is Incomplete instead.
  rocksdb::Status BeginCheck(
      bool may_wait,
      const std::function<rocksdb::Status(const std::vector<FamilyRecord>&)>&
          check);
  // Records that nothing of the family is left to be read, if that is still
  // true (`still`) where no check can begin.
  rocksdb::Status EndCheck(uint32_t family_id,
                           const std::function<bool()>& still);

  // From now on no family is known. Drops what is unfinished, if that works.
  void Close();

 private:
  // Those of now, to be changed.
  void CopyFamilies(std::vector<Family>* replicated,
                    std::vector<Family>* others) const;
  void SetRecords(std::vector<FamilyRecord> records);
  rocksdb::Status Write(const std::vector<FamilyRecord>& records,
                        const rocksdb::WriteOptions& options);
  // Durable if `durably`; else from the next write of the records on.
  rocksdb::Status NoteMayBeAbsent(uint32_t family_id, bool absent,
                                  bool durably);
  rocksdb::Status DropLocked(uint32_t id, rocksdb::ColumnFamilyHandle* handle,
                             const PurgeRequest& purge);
  rocksdb::Status DropAndHide(uint32_t id, rocksdb::ColumnFamilyHandle* handle,
                              bool* gone);
  rocksdb::Status RemoveEntries(uint32_t id, const PurgeRequest& purge);
  bool IsHandleOf(rocksdb::ColumnFamilyHandle* handle,
                  const Family* family) const;
  // From now on they are known. REQUIRES: all stripes are held.
  void Show(std::unique_ptr<const FamilyTable> next,
            std::vector<FamilyRecord> records);
  rocksdb::Status Install(std::vector<Family> families,
                          std::vector<Family> others,
                          std::vector<FamilyRecord> records);

  IndexedDB* const indexed_;
  const std::shared_ptr<HashCompletionFactory> completion_;
  std::mutex mutex_;
  std::set<uint32_t> dropped_;  // those that were replicated, by id
  std::map<std::string, rocksdb::ColumnFamilyHandle*> unfinished_;
  mutable std::mutex records_mutex_;
  // Of the replicated ones, and of those that were dropped whose purge is not
  // written down.
  std::vector<FamilyRecord> records_;
  std::atomic<uint64_t> drops_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_FAMILIES_H_

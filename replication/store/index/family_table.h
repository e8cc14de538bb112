// Which column families are replicated: an immutable table, replaced whole
// when a family comes or goes.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_FAMILY_TABLE_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_FAMILY_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/merge_operator.h"

namespace rocksync {

// The application's handle of a family. It is the application's to give back
// at any time, while a session may still read through it; so giving back only
// marks it, and it is destroyed with the last reference. Until then RocksDB
// keeps what it has of the family, dropped or not.
struct SharedHandle {
  SharedHandle(rocksdb::DB* owner, rocksdb::ColumnFamilyHandle* shared);
  ~SharedHandle();
  SharedHandle(const SharedHandle&) = delete;
  SharedHandle& operator=(const SharedHandle&) = delete;

  rocksdb::DB* const db;  // the root, whatever wraps it
  rocksdb::ColumnFamilyHandle* const handle;
  // RocksDB has a merge operator for the family, so a key may hold operands, be
  // it only of foreign writes.
  const bool merges;
  std::atomic<bool> given_back{false};
};

// Whether some database of this process has a SharedHandle of it. Thread-safe.
bool IsShared(rocksdb::ColumnFamilyHandle* handle);
// Marks the SharedHandle of it that `owner` has as given back. False: there is
// none, and the handle is the caller's to destroy. Thread-safe.
bool GiveBack(rocksdb::DB* owner, rocksdb::ColumnFamilyHandle* handle);
// Before `owner` closes: destroys what was given back to it, whoever may still
// have a reference.
void DestroyGivenBack(rocksdb::DB* owner);

struct Family {
  uint32_t id = 0;       // RocksDB's, never used again after a drop
  uint32_t ordinal = 0;  // among the replicated families, by name
  std::string name;
  std::shared_ptr<SharedHandle> shared;  // null: of a table of names alone
  // What Merge through the library takes; may be null.
  std::shared_ptr<rocksdb::MergeOperator> merge_operator;

  rocksdb::ColumnFamilyHandle* handle() const { return shared->handle; }
};

// Thread-safe, being immutable.
class FamilyTable {
 public:
  // In any order; ids and names unique. `others` are not replicated.
  FamilyTable(std::vector<Family> replicated, std::vector<Family> others);
  FamilyTable(const FamilyTable&) = delete;
  FamilyTable& operator=(const FamilyTable&) = delete;

  // Null if the family is not replicated.
  const Family* Find(uint32_t id) const {
    return id < by_id_.size() ? by_id_[id] : nullptr;
  }
  // Null if the family is replicated or unknown.
  const Family* FindOther(uint32_t id) const {
    return id < other_by_id_.size() ? other_by_id_[id] : nullptr;
  }

  // The replicated ones, by ordinal.
  const std::vector<Family>& families() const { return families_; }
  const std::vector<Family>& others() const { return others_; }

  // One of the replicated families alone. It keeps what RocksDB has of them as
  // long as it lives.
  std::shared_ptr<const FamilyTable> CopyReplicated() const;
  // The same without handles, so that it keeps nothing.
  std::shared_ptr<const FamilyTable> CopyNames() const;

  // Whether the same families are replicated, so that ordinals mean the same.
  // O(1) of a table and its copies.
  bool ReplicatesAs(const FamilyTable& other) const;

 private:
  uint64_t number_;  // copies have the same
  std::vector<Family> families_;
  std::vector<Family> others_;
  std::vector<const Family*> by_id_;
  std::vector<const Family*> other_by_id_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_FAMILY_TABLE_H_

// The table of replicated column families. It is immutable, and replaced as a
// whole when a family is created or dropped.

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

// The application's handle of a family. The application may give it back at any
// time, while a session may still read through it. So giving back only marks
// it, and the last reference destroys it. Until then RocksDB keeps the family's
// data, dropped or not.
struct SharedHandle {
  SharedHandle(rocksdb::DB* owner, rocksdb::ColumnFamilyHandle* shared);
  ~SharedHandle();
  SharedHandle(const SharedHandle&) = delete;
  SharedHandle& operator=(const SharedHandle&) = delete;

  rocksdb::DB* const db;  // the root DB, whatever wraps it
  rocksdb::ColumnFamilyHandle* const handle;
  // RocksDB has a merge operator for the family, so a key may hold merge
  // operands, if only from foreign writes.
  const bool merges;
  std::atomic<bool> given_back{false};
};

// Whether a database of this process has a SharedHandle of `handle`.
// Thread-safe.
bool IsShared(rocksdb::ColumnFamilyHandle* handle);
// Marks the SharedHandle that `owner` has of `handle` as given back. Returns
// false if there is none: then the caller has to destroy the handle.
// Thread-safe.
bool GiveBack(rocksdb::DB* owner, rocksdb::ColumnFamilyHandle* handle);
// Destroys the handles that were given back to `owner`, even if references to
// them remain. Called before `owner` closes.
void DestroyGivenBack(rocksdb::DB* owner);

struct Family {
  uint32_t id = 0;       // RocksDB's, never used again after a drop
  uint32_t ordinal = 0;  // among the replicated families, by name
  std::string name;
  std::shared_ptr<SharedHandle> shared;  // null in a table of names
  // The operator that Merge through the library uses; may be null.
  std::shared_ptr<rocksdb::MergeOperator> merge_operator;

  rocksdb::ColumnFamilyHandle* handle() const { return shared->handle; }
};

// The families, by id and by ordinal. Immutable, and so thread-safe.
class FamilyTable {
 public:
  // Takes the families in any order; ids and names are unique. `others` are not
  // replicated.
  FamilyTable(std::vector<Family> replicated, std::vector<Family> others);
  FamilyTable(const FamilyTable&) = delete;
  FamilyTable& operator=(const FamilyTable&) = delete;

  // Returns null if the family is not replicated.
  const Family* Find(uint32_t id) const {
    return id < by_id_.size() ? by_id_[id] : nullptr;
  }
  // Returns null if the family is replicated or unknown.
  const Family* FindOther(uint32_t id) const {
    return id < other_by_id_.size() ? other_by_id_[id] : nullptr;
  }

  // The replicated families, by ordinal.
  const std::vector<Family>& families() const { return families_; }
  const std::vector<Family>& others() const { return others_; }

  // Returns a table of the replicated families alone. While it lives, RocksDB
  // keeps their data.
  std::shared_ptr<const FamilyTable> CopyReplicated() const;
  // Like CopyReplicated, but without handles, so that it keeps no data.
  std::shared_ptr<const FamilyTable> CopyNames() const;

  // Whether both tables replicate the same families, so that ordinals mean the
  // same. Takes O(1) for a table and its copies.
  bool ReplicatesAs(const FamilyTable& other) const;

 private:
  uint64_t number_;  // the same in all copies of a table
  std::vector<Family> families_;
  std::vector<Family> others_;
  std::vector<const Family*> by_id_;
  std::vector<const Family*> other_by_id_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_FAMILY_TABLE_H_

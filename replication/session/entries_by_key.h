// Holds many index entries in order of their keys, in little memory.

#ifndef ROCKSYNC_REPLICATION_SESSION_ENTRIES_BY_KEY_H_
#define ROCKSYNC_REPLICATION_SESSION_ENTRIES_BY_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replication/session/leaf_batch.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// The entries of a batch's elements, without their hashes, which the batch has.
// Grammar of use: ( Clear Add* Sort ( Next Pop )* )*
class EntriesByKey {
 private:
  struct Packed {
    uint64_t key_begins = 0;  // the first bytes of the key
    Version version;
    size_t key_at = 0;  // in keys_
    uint32_t key_bytes = 0;
    uint32_t family = 0;
    uint32_t ordinal = 0;
    bool tombstone = false;
  };

 public:
  // Memory of an entry, besides the bytes of its key.
  static constexpr size_t kEntryBytes = sizeof(Packed);

  // Drops what was there, and reserves memory for `entries` entries with
  // `key_bytes` bytes of keys together.
  void Clear(size_t entries, size_t key_bytes);
  void Add(uint32_t ordinal, const IndexEntry& entry);
  // Sorts by family, and then by the bytes of the key.
  void Sort();

  bool empty() const { return next_ == entries_.size(); }
  // REQUIRES, for these three: !empty().
  uint32_t ordinal() const { return entries_[next_].ordinal; }
  IndexEntry Next(const LeafBatch& batch) const;
  void Pop() { ++next_; }

  // True if every entry that is left is covered.
  bool all_are_covered(const LeafBatch& batch) const;

 private:
  std::string_view KeyOf(const Packed& entry) const {
    return std::string_view(keys_).substr(entry.key_at, entry.key_bytes);
  }

  std::vector<Packed> entries_;
  std::string keys_;
  size_t next_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ENTRIES_BY_KEY_H_

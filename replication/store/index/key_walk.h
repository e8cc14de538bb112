// Reads the values of many keys in ascending order, by going from one to the
// next.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_KEY_WALK_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_KEY_WALK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "replication/store/index/family_table.h"
#include "rocksdb/db.h"
#include "rocksdb/iterator.h"

namespace rocksync {

// Reads values with one iterator. Where the keys lie close together, its steps
// read each block of a table once; a look-up per key reads one or more blocks,
// and evicts the application's from the block cache. If the keys turn out to
// lie far apart, the walk gives up, and finds nothing any more. Not
// thread-safe.
class KeyWalk {
 public:
  // `at` null: as of the moment each iterator is made. `keys`: about how many
  // keys are sought; a walk for few does not pay.
  KeyWalk(rocksdb::DB* db, const rocksdb::Snapshot* at, size_t keys);

  // Sets `*value` to the value of `key`, valid until the next call. False tells
  // nothing about the key, which has to be looked up. Find returns false for
  // wide-column entities, errors, and keys that do not exist.
  bool Find(const Family& family, std::string_view key,
            std::string_view* value);

 private:
  // Moves to `key` or behind it. Returns false if the iterator has failed.
  bool MoveTo(const rocksdb::Comparator& order, const rocksdb::Slice& key);
  // Makes the iterator anew. Called now and then, since an iterator keeps
  // memtables and files that are no longer needed.
  void Renew(const Family& family);

  rocksdb::DB* const db_;
  const rocksdb::Snapshot* const at_;
  bool pays_;
  uint32_t family_id_ = 0;  // the iterator's
  std::unique_ptr<rocksdb::Iterator> iterator_;
  size_t finds_ = 0;      // by the present iterator
  size_t bytes_ = 0;      // of their values
  size_t all_finds_ = 0;  // by all iterators
  size_t seeks_ = 0;      // in all of these finds
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_KEY_WALK_H_

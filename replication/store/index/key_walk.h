// Values of many keys in ascending order, read by going on from one to the
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

// Where the keys sought lie close together, steps of an iterator read each
// block of a table once, while a look-up for each key reads one or more, and
// pushes the application's own out of the block cache. Where they turn out not
// to, the walk gives up, and finds nothing any more. Not thread-safe.
class KeyWalk {
 public:
  // `at` null: now, and until then as of this moment. `keys`: about how many
  // are sought; a walk for few does not pay.
  KeyWalk(rocksdb::DB* db, const rocksdb::Snapshot* at, size_t keys);

  // The value of `key`, until the next call. False says nothing of the key: it
  // has to be looked up. So it is with wide-column entities, errors, and keys
  // that are not there.
  bool Find(const Family& family, std::string_view key,
            std::string_view* value);

 private:
  // Moves to `key` or behind it. False: the iterator does not work here.
  bool MoveTo(const rocksdb::Comparator& order, const rocksdb::Slice& key);
  // An iterator keeps memtables and files that are no longer needed, so it is
  // made anew every now and then.
  void Renew(const Family& family);

  rocksdb::DB* const db_;
  const rocksdb::Snapshot* const at_;
  bool pays_;
  uint32_t family_id_ = 0;  // of the iterator
  std::unique_ptr<rocksdb::Iterator> iterator_;
  size_t finds_ = 0;      // by this iterator
  size_t bytes_ = 0;      // of their values
  size_t all_finds_ = 0;  // by all of them
  size_t seeks_ = 0;      // that were needed for these
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_KEY_WALK_H_

// Plain values, as Put writes them, told from wide-column entities (PutEntity).
//
// The library ships and hashes values. rocksdb::DB::Get and Iterator::value()
// show an entity as its default column alone, so whoever reads a value in order
// to compare, hash or ship it reads it here: an entity is never taken for that
// column. An entity of just the default column reads as a plain value, which it
// is to every reader.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_PLAIN_VALUE_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_PLAIN_VALUE_H_

#include <string>
#include <string_view>

#include "replication/store/index/family_table.h"
#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/wide_columns.h"

namespace rocksync {

inline bool IsPlain(const rocksdb::WideColumns& columns) {
  return columns.size() == 1 &&
         columns.front().name() == rocksdb::kDefaultWideColumnName;
}

// REQUIRES: `pair` is valid, and of a DB's NewIterator.
inline bool IsPlain(const rocksdb::Iterator& pair) {
  return IsPlain(pair.columns());
}

// NotSupported, naming family, key and remedy.
rocksdb::Status EntityError(const Family& family, std::string_view key);

// As DB::Get. OK with `*entity`: it is one, and `*value` is empty. Costs a
// second look-up, of what the first has brought into the caches.
// REQUIRES: for a value and columns of one moment, a snapshot or the key's
// lock.
rocksdb::Status GetPlain(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const Family& family, std::string_view key,
                         std::string* value, bool* entity);

// The same; an entity is EntityError.
rocksdb::Status GetPlain(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const Family& family, std::string_view key,
                         std::string* value);

// As DB::GetEntity, of a key that DB::Get finds. MergeInProgress if that is
// plain for sure, and GetEntity must not be asked (rocksdb_version.h).
rocksdb::Status GetColumns(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                           const Family& family, std::string_view key,
                           rocksdb::PinnableWideColumns* columns);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_PLAIN_VALUE_H_

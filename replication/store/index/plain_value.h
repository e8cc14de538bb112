// Tells plain values, as Put writes them, from wide-column entities
// (PutEntity).
//
// The library ships and hashes values. rocksdb::DB::Get and Iterator::value()
// show only the default column of an entity. So code that reads a value in
// order to compare, hash or ship it uses this file, and never takes an entity
// for that column. An entity of just the default column is a plain value, as it
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

// REQUIRES: `pair` is valid, and made by a DB's NewIterator.
inline bool IsPlain(const rocksdb::Iterator& pair) {
  return IsPlain(pair.columns());
}

// Returns NotSupported, with family, key and remedy.
rocksdb::Status EntityError(const Family& family, std::string_view key);

// Reads a value as DB::Get does. If the key holds an entity, returns OK, sets
// `*entity` and leaves `*value` empty. Costs a second look-up, which finds in
// the caches what the first has read.
// REQUIRES: for a value and columns of one moment, a snapshot or the key's
// lock.
rocksdb::Status GetPlain(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const Family& family, std::string_view key,
                         std::string* value, bool* entity);

// Reads a value as above, and returns EntityError if the key holds an entity.
rocksdb::Status GetPlain(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const Family& family, std::string_view key,
                         std::string* value);

// Reads the columns as DB::GetEntity does, of a key that DB::Get finds. Returns
// MergeInProgress if the value is certainly plain, and GetEntity must not be
// called (rocksdb_version.h).
rocksdb::Status GetColumns(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                           const Family& family, std::string_view key,
                           rocksdb::PinnableWideColumns* columns);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_PLAIN_VALUE_H_

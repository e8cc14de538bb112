// Continues a scan behind a block that cannot be read.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_SEEK_BEHIND_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_SEEK_BEHIND_H_

#include <functional>
#include <memory>
#include <string_view>

#include "rocksdb/iterator.h"

namespace rocksync {

// Returns an iterator at the first key behind `key` from which on iterators
// read. Null if nothing behind `key` reads, or if nothing is there.
//
// Nothing tells where a damaged block ends. So this searches in steps that grow
// until a readable key is found, and then halve: at most some 200 seeks,
// however much cannot be read. If damage is scattered, it may pass over
// readable keys in between. Each seek uses a new iterator, since one that
// failed may go on failing wherever it seeks.
// REQUIRES: keys are ordered by their bytes.
std::unique_ptr<rocksdb::Iterator> SeekBehind(
    const std::function<std::unique_ptr<rocksdb::Iterator>()>& new_iterator,
    std::string_view key);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_SEEK_BEHIND_H_

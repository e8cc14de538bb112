// On behind a block that does not read.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_SEEK_BEHIND_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_SEEK_BEHIND_H_

#include <functional>
#include <memory>
#include <string_view>

#include "rocksdb/iterator.h"

namespace rocksync {

// Nothing tells where a damaged block ends, so this looks for the first key
// behind `key` from which on iterators read, in steps that grow until one is
// found, and then halve: some 200 seeks at most, however much does not read.
// Where damage is scattered, something between may be passed over that reads.
// One iterator each, since one that failed may go on failing wherever it seeks.
// REQUIRES: keys are ordered by their bytes.
// Null: nothing behind `key` reads, or there is nothing. Else it is valid.
std::unique_ptr<rocksdb::Iterator> SeekBehind(
    const std::function<std::unique_ptr<rocksdb::Iterator>()>& new_iterator,
    std::string_view key);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_SEEK_BEHIND_H_

// The memtable of the index column family. Index keys begin with a uniform
// 64-bit hash (ElementHasher::Position), so an array of buckets chosen by the
// leading bits of the key keeps them in order with no tree at all: an insert or
// a lookup costs about one cache miss, where a skip list costs a dozen.

#ifndef ROCKSYNC_REPLICATION_STORE_BUCKET_MEMTABLE_H_
#define ROCKSYNC_REPLICATION_STORE_BUCKET_MEMTABLE_H_

#include <memory>

#include "rocksdb/memtablerep.h"

namespace rocksync {

// A factory of memtables with 2^bucket_bits buckets each (8 bytes a bucket).
// Keys of any shape are stored correctly and in order; only keys with uniform
// leading bits are stored quickly. One bucket per expected entry or two is
// right. `bucket_bits` is in 6..24.
//
// A memtable's shape never reaches the disk, so the factory presents itself as
// RocksDB's skip list in OPTIONS files: stock tools that load options from a
// database of ours find a factory that they know.
std::shared_ptr<rocksdb::MemTableRepFactory> NewBucketMemtableFactory(
    int bucket_bits);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_BUCKET_MEMTABLE_H_

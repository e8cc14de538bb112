// The memtable of the index column family. Index keys begin with a uniform
// 64-bit hash (ElementHasher::Position), so an array of buckets chosen by the
// leading bits of the key keeps them in order with no tree at all: an insert or
// a lookup costs about one cache miss, where a skip list costs a dozen.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_BUCKET_MEMTABLE_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_BUCKET_MEMTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "replication/store/index/node_memory.h"
#include "rocksdb/memtablerep.h"

namespace rocksync {

// Makes memtables of buckets. Keys of any shape are stored correctly and in
// order, by bytes; only keys with uniform leading bits are stored quickly.
//
// A memtable's shape never reaches the disk, so the factory presents itself as
// RocksDB's skip list in OPTIONS files: stock tools that load options from a
// database of ours find a factory that they know.
class BucketMemtableFactory final : public rocksdb::MemTableRepFactory {
 public:
  // Buckets cost 8 bytes each; one per expected entry or two is right.
  // `bucket_bits` is in 6..24, `write_buffer_bytes` the column family's.
  // Entries are charged to `budget`, which may be null.
  BucketMemtableFactory(
      int bucket_bits, size_t write_buffer_bytes,
      std::shared_ptr<rocksdb::WriteBufferManager> budget = nullptr);

  // FetchBucket and FetchNode fetch into the cache what inserting a key with
  // these leading 64 bits will touch in the youngest memtable: first the
  // bucket, and a little later the first entry there. Thread-safe; they never
  // wait.
  void FetchBucket(uint64_t leading) const {
    __builtin_prefetch(
        static_cast<const char*>(youngest_.load(std::memory_order_relaxed)) +
            (leading >> (64 - bucket_bits_)) * sizeof(void*),
        /*rw=*/1);
  }
  void FetchNode(uint64_t leading) const;

  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(
      const rocksdb::MemTableRep::KeyComparator& compare,
      rocksdb::Allocator* allocator, const rocksdb::SliceTransform* transform,
      rocksdb::Logger* logger) override;
  const char* Name() const override;
  std::string GetId() const override { return Name(); }
  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }

 private:
  const int bucket_bits_;
  const std::shared_ptr<ChunkPool> pool_;
  const std::shared_ptr<ArrayPool> arrays_;
  // The buckets of the youngest memtable. They stay mapped when it is gone, and
  // nothing reads the entries that they point to from here.
  std::atomic<const void*> youngest_{nullptr};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_BUCKET_MEMTABLE_H_

#include "replication/store/index/index_options.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "replication/store/format/index_key.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

namespace rocksync {
namespace {

// The memory of one entry in the memtable, all included, for keys of some 16
// bytes.
constexpr size_t kMemtableEntryBytes = 96;

int BucketBits(size_t write_buffer_bytes) {
  const size_t entries = write_buffer_bytes / kMemtableEntryBytes;
  return std::clamp(static_cast<int>(std::bit_width(entries)), 10, 22);
}

}  // namespace

std::shared_ptr<BucketMemtableFactory> NewIndexMemtable(
    const ReplicatedDBOptions& options,
    std::shared_ptr<rocksdb::WriteBufferManager> budget) {
  size_t bytes = options.index_write_buffer_bytes;
  if (budget != nullptr && budget->enabled()) {
    bytes = std::min(bytes, budget->buffer_size());
  }
  return std::make_shared<BucketMemtableFactory>(BucketBits(bytes), bytes,
                                                 std::move(budget));
}

rocksdb::ColumnFamilyOptions IndexFamilyOptions(
    const ReplicatedDBOptions& options,
    std::shared_ptr<BucketMemtableFactory> memtable,
    std::shared_ptr<HashCompletionFactory> completion) {
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.index_write_buffer_bytes;
  family.memtable_factory = std::move(memtable);
  // Entries are hashes, so nothing can be compressed. They are written at
  // random over the whole key space, and universal compaction rewrites them
  // less often than level compaction does.
  family.compression = rocksdb::kNoCompression;
  family.compaction_style = rocksdb::kCompactionStyleUniversal;
  // The filter has to answer only lookups by position. Capped, as RocksDB takes
  // the prefix of each key that an iterator passes, and a damaged one may be
  // shorter.
  family.prefix_extractor.reset(
      rocksdb::NewCappedPrefixTransform(kPositionBytes));
  family.compaction_filter_factory = std::move(completion);

  rocksdb::BlockBasedTableOptions table;
  table.block_size = 1024;
  table.whole_key_filtering = false;
  table.filter_policy = options.index_filter_policy;
  if (table.filter_policy == nullptr) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  }
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

}  // namespace rocksync

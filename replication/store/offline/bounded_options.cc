#include "replication/store/offline/bounded_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rocksdb/cache.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/table.h"

namespace rocksync {
namespace {

constexpr int kMaxThreads = 16;
constexpr size_t kMaxBuffer = size_t{16} << 20;
constexpr size_t kBlockCache = size_t{32} << 20;
constexpr size_t kMaxMemtable = size_t{256} << 20;
constexpr int kMaxMemtables = 64;
// RocksDB's own databases have 7.
constexpr int kMaxLevels = 64;
constexpr uint32_t kMaxDictionary = uint32_t{1} << 20;

// Types of options differ between versions of RocksDB.
template <typename Most, typename Number>
void AtMost(Most most, Number* value) {
  *value = std::min(*value, static_cast<Number>(most));
}

void Bound(rocksdb::CompressionOptions* options) {
  AtMost(kMaxThreads, &options->parallel_threads);
  AtMost(kMaxDictionary, &options->max_dict_bytes);
  AtMost(100 * kMaxDictionary, &options->zstd_max_train_bytes);
}

void Bound(rocksdb::BlockBasedTableOptions* options) {
  AtMost(kMaxBuffer, &options->block_size);
  AtMost(kMaxBuffer, &options->metadata_block_size);
  AtMost(kMaxBuffer, &options->max_auto_readahead_size);
  AtMost(kMaxBuffer, &options->initial_auto_readahead_size);
  options->block_cache = rocksdb::NewLRUCache(kBlockCache);
  options->persistent_cache = nullptr;
}

void Bound(rocksdb::PlainTableOptions* options) {
  AtMost(64, &options->bloom_bits_per_key);
  AtMost(kMaxBuffer, &options->huge_page_tlb_size);
}

}  // namespace

void BoundResources(rocksdb::DBOptions* options) {
  for (int* threads :
       {&options->max_background_jobs, &options->max_background_compactions,
        &options->max_background_flushes, &options->max_file_opening_threads}) {
    AtMost(kMaxThreads, threads);
  }
  AtMost(kMaxThreads, &options->max_subcompactions);
  options->table_cache_numshardbits =
      rocksdb::DBOptions().table_cache_numshardbits;
  for (size_t* bytes :
       {&options->writable_file_max_buffer_size,
        &options->compaction_readahead_size, &options->log_readahead_size,
        &options->manifest_preallocation_size,
        &options->stats_history_buffer_size}) {
    AtMost(kMaxBuffer, bytes);
  }
  AtMost(kMaxMemtables, &options->recycle_log_file_num);
  options->row_cache = nullptr;
}

void BoundResources(rocksdb::ColumnFamilyOptions* options) {
  AtMost(kMaxLevels, &options->num_levels);
  AtMost(kMaxMemtable, &options->write_buffer_size);
  AtMost(kMaxBuffer, &options->arena_block_size);
  AtMost(kMaxMemtables, &options->max_write_buffer_number);
  AtMost(kMaxMemtables, &options->min_write_buffer_number_to_merge);
  options->memtable_huge_page_size = 0;
  AtMost(0.25, &options->memtable_prefix_bloom_size_ratio);
  options->inplace_update_num_locks =
      rocksdb::ColumnFamilyOptions().inplace_update_num_locks;
  // Another one would be as large as the file says.
  options->memtable_factory = std::make_shared<rocksdb::SkipListFactory>();
  Bound(&options->compression_opts);
  Bound(&options->bottommost_compression_opts);
  rocksdb::TableFactory* const tables = options->table_factory.get();
  if (tables == nullptr) return;
  if (auto* const blocks =
          tables->GetOptions<rocksdb::BlockBasedTableOptions>()) {
    Bound(blocks);
  }
  if (auto* const plain = tables->GetOptions<rocksdb::PlainTableOptions>()) {
    Bound(plain);
  }
}

}  // namespace rocksync

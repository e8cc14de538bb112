#include "replication/store/offline/bounded_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "rocksdb/table.h"

namespace rocksync {
namespace {

constexpr int kMaxJobs = 16;
// RocksDB's default is 7. The last level is in use with universal compaction,
// or dynamic levels, and RocksDB refuses a database that has more levels than
// its options.
constexpr int kMaxLevels = 1024;
constexpr int kMaxOpenFiles = 1'000'000;
// Bounds for blocks of data and of metadata, in tables that are written.
constexpr size_t kMaxBlock = size_t{4} << 20;
constexpr size_t kMinBlock = 512;
constexpr int kMaxBitsPerKey = 64;

// Bounds an option, whose type differs between versions of RocksDB.
template <typename Number, typename Bound>
Number Clamp(Number value, Bound least, Bound most) {
  return std::clamp(value, static_cast<Number>(least),
                    static_cast<Number>(most));
}

rocksdb::BlockBasedTableOptions BoundedBlocks(
    const rocksdb::BlockBasedTableOptions& file) {
  rocksdb::BlockBasedTableOptions options;
  options.index_type = file.index_type;
  options.data_block_index_type = file.data_block_index_type;
  options.index_shortening = file.index_shortening;
  options.enable_index_compression = file.enable_index_compression;
  options.partition_filters = file.partition_filters;
  options.filter_policy = file.filter_policy;
  options.whole_key_filtering = file.whole_key_filtering;
  options.checksum = file.checksum;
  options.format_version = file.format_version;
  options.block_size = Clamp(file.block_size, kMinBlock, kMaxBlock);
  options.metadata_block_size =
      Clamp(file.metadata_block_size, kMinBlock, kMaxBlock);
  return options;
}

// Bounds the options of tables. The factory of tables that are not block-based
// is kept, as it says how they are read.
std::shared_ptr<rocksdb::TableFactory> BoundedTables(
    const std::shared_ptr<rocksdb::TableFactory>& file) {
  if (file == nullptr) return nullptr;
  if (const auto* const blocks =
          file->GetOptions<rocksdb::BlockBasedTableOptions>()) {
    return std::shared_ptr<rocksdb::TableFactory>(
        rocksdb::NewBlockBasedTableFactory(BoundedBlocks(*blocks)));
  }
  if (auto* const plain = file->GetOptions<rocksdb::PlainTableOptions>()) {
    plain->bloom_bits_per_key =
        Clamp(plain->bloom_bits_per_key, 0, kMaxBitsPerKey);
    plain->huge_page_tlb_size = 0;
  }
  return file;
}

rocksdb::CompactionOptionsFIFO DroppingNothing() {
  rocksdb::CompactionOptionsFIFO options;
  options.max_table_files_size = std::numeric_limits<uint64_t>::max();
  return options;
}

}  // namespace

rocksdb::DBOptions BoundedOptions(const rocksdb::DBOptions& file) {
  rocksdb::DBOptions options;
  options.env = file.env;
  options.wal_dir = file.wal_dir;
  options.db_log_dir = file.db_log_dir;
  options.db_paths = file.db_paths;
  options.wal_recovery_mode = file.wal_recovery_mode;
  options.track_and_verify_wals_in_manifest =
      file.track_and_verify_wals_in_manifest;
  // Without this option, RocksDB with assertions ends the process at a log of a
  // TransactionDB.
  options.allow_2pc = file.allow_2pc;
  options.allow_mmap_reads = file.allow_mmap_reads;  // for plain tables
  options.allow_ingest_behind = file.allow_ingest_behind;
  options.file_checksum_gen_factory = file.file_checksum_gen_factory;
  options.max_open_files = Clamp(file.max_open_files, -1, kMaxOpenFiles);
  options.max_background_jobs = Clamp(file.max_background_jobs, 2, kMaxJobs);
  return options;
}

rocksdb::ColumnFamilyOptions BoundedFamilyOptions(
    const rocksdb::ColumnFamilyOptions& file) {
  rocksdb::ColumnFamilyOptions options;
  options.comparator = file.comparator;
  options.merge_operator = file.merge_operator;
  options.prefix_extractor = file.prefix_extractor;
  options.table_factory = BoundedTables(file.table_factory);
  options.cf_paths = file.cf_paths;
  options.num_levels = Clamp(file.num_levels, 1, kMaxLevels);
  options.level_compaction_dynamic_level_bytes =
      file.level_compaction_dynamic_level_bytes;
  options.disable_auto_compactions = file.disable_auto_compactions;
  options.compaction_style = file.compaction_style;
  options.compaction_options_fifo = DroppingNothing();
  options.ttl = 0;
  options.periodic_compaction_seconds = 0;
  options.compression = file.compression;
  options.bottommost_compression = file.bottommost_compression;
  options.compression_per_level = file.compression_per_level;
  options.compression_per_level.resize(
      std::min(file.compression_per_level.size(), size_t{kMaxLevels}));
  options.enable_blob_files = file.enable_blob_files;
  options.min_blob_size = file.min_blob_size;
  options.blob_compression_type = file.blob_compression_type;
  return options;
}

}  // namespace rocksync

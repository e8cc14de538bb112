#include "replication/store/open/read_only_options.h"

#include <algorithm>
#include <memory>

#include "replication/store/open/info_log.h"

namespace rocksync {

rocksdb::DBOptions ReadOnlyOptions(rocksdb::DBOptions options,
                                   rocksdb::WalFilter* filter) {
  constexpr int kOpenFiles = 64;  // RocksDB reads so many when it opens
  options.info_log = std::make_shared<NoLog>();
  options.create_if_missing = false;
  options.create_missing_column_families = false;
  options.error_if_exists = false;
  options.listeners.clear();
  options.statistics.reset();
  options.write_buffer_manager.reset();
  options.db_write_buffer_size = 0;
  options.sst_file_manager.reset();
  options.row_cache.reset();
  options.wal_filter = filter;
  options.allow_2pc = true;  // so that RocksDB reads all of the log
  options.persist_stats_to_disk = false;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_open_files = options.max_open_files < 0
                               ? kOpenFiles
                               : std::min(options.max_open_files, kOpenFiles);
  return options;
}

}  // namespace rocksync

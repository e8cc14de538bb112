// RocksDB's LOG on a disk that may be full.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_INFO_LOG_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_INFO_LOG_H_

#include <cstdarg>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace rocksync {

// The LOG as RocksDB would keep it for a database `name` with these options,
// but that lines which cannot be written are left out. RocksDB's own logger
// writes through a buffer that must not be used again after an error, and where
// RocksDB is built with assertions, as Debian's is, the next line ends the
// process.
std::shared_ptr<rocksdb::Logger> NewInfoLog(const rocksdb::DBOptions& options,
                                            const std::string& name);

// Of an opening that is to leave nothing behind.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_INFO_LOG_H_

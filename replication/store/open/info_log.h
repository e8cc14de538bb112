// Writes RocksDB's LOG to a disk that may be full.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_INFO_LOG_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_INFO_LOG_H_

#include <cstdarg>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace rocksync {

// Returns the LOG that RocksDB would keep for a database `name` with these
// options, except that it leaves out lines which cannot be written. RocksDB's
// own logger writes through a buffer that must not be used again after an
// error; where RocksDB is built with assertions, as Debian's is, the next line
// ends the process.
std::shared_ptr<rocksdb::Logger> NewInfoLog(const rocksdb::DBOptions& options,
                                            const std::string& name);

// A logger that writes nothing, for an opening that must leave nothing behind.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_INFO_LOG_H_

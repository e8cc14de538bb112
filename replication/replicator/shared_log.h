// A logger that writes each line to the logs of several databases.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LOG_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LOG_H_

#include <cstdarg>
#include <map>
#include <memory>
#include <mutex>

#include "rocksdb/env.h"

namespace rocksync {

// Holds the databases' logs, each by its owner. Thread-safe.
class SharedLog : public rocksdb::Logger {
 public:
  // Passes all levels on; each log filters by its own level.
  SharedLog() : Logger(rocksdb::InfoLogLevel::DEBUG_LEVEL) {}

  // Sets the log of `owner`. Null: once this returns, `owner` has none any
  // more, and the earlier one is not written to.
  void Set(const void* owner, std::shared_ptr<rocksdb::Logger> log);

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override;
  void Logv(rocksdb::InfoLogLevel level, const char* format,
            va_list arguments) override;

 private:
  std::mutex mutex_;  // held while a line is written
  std::map<const void*, std::shared_ptr<rocksdb::Logger>> logs_;  // by owner
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LOG_H_

// A log whose lines go to the logs of several databases.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LOG_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LOG_H_

#include <cstdarg>
#include <map>
#include <memory>
#include <mutex>

#include "rocksdb/env.h"

namespace rocksync {

// Thread-safe.
class SharedLog : public rocksdb::Logger {
 public:
  // Each log judges by itself which levels it takes.
  SharedLog() : Logger(rocksdb::InfoLogLevel::DEBUG_LEVEL) {}

  // The log of `owner` from now on; null: none any more, once this returns.
  void Set(const void* owner, std::shared_ptr<rocksdb::Logger> log);

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override;
  void Logv(rocksdb::InfoLogLevel level, const char* format,
            va_list arguments) override;

 private:
  std::mutex mutex_;  // held while writing
  std::map<const void*, std::shared_ptr<rocksdb::Logger>> logs_;  // by owner
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SHARED_LOG_H_

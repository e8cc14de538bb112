#include "replication/replicator/shared_log.h"

#include <set>
#include <utility>

namespace rocksync {

void SharedLog::Set(const void* owner, std::shared_ptr<rocksdb::Logger> log) {
  const std::lock_guard lock(mutex_);
  if (log == nullptr) {
    logs_.erase(owner);
  } else {
    logs_[owner] = std::move(log);
  }
}

void SharedLog::Logv(const char* format, va_list arguments) {
  Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
}

void SharedLog::Logv(rocksdb::InfoLogLevel level, const char* format,
                     va_list arguments) {
  const std::lock_guard lock(mutex_);
  std::set<rocksdb::Logger*> told;  // databases may share a log
  for (const auto& [owner, log] : logs_) {
    if (!told.insert(log.get()).second) continue;
    va_list copy;
    va_copy(copy, arguments);
    log->Logv(level, format, copy);
    va_end(copy);
  }
}

}  // namespace rocksync

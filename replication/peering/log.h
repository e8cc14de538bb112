// Writes the outcome of sessions, and refused connections, to the database's
// info_log.

#ifndef ROCKSYNC_REPLICATION_PEERING_LOG_H_
#define ROCKSYNC_REPLICATION_PEERING_LOG_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "replication/peering/repeated_failures.h"
#include "replication/session/session.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Logs each session that ended: at level WARN if it failed, INFO if pairs
// moved, else DEBUG. The same failure with the same peer is logged at most once
// a minute (see RepeatedFailures). Thread-safe.
class SessionLog {
 public:
  // `log` may be null.
  void Write(rocksdb::Logger* log, const std::string& peer, uint64_t replica_id,
             const SessionReport& report, const rocksdb::Status& status,
             std::chrono::steady_clock::duration took);

 private:
  RepeatedFailures failures_;
};

// Logs accepted connections that one of the two sides refused, at most a line a
// second: a peer that connects again and again must not fill the log.
// Thread-safe.
class RefusalLog {
 public:
  // `log` may be null.
  void Write(const std::shared_ptr<rocksdb::Logger>& log,
             const std::string& peer, const rocksdb::Status& why);

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point written_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_LOG_H_

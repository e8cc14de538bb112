// Watches for a write to RocksDB's log, or a sync of it, that fails, also
// within a flush, and for errors with which RocksDB takes no writes any more.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_LOG_WATCH_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_LOG_WATCH_H_

#include <atomic>
#include <mutex>

#include "rocksdb/listener.h"
#include "rocksdb/status.h"

namespace rocksync {

// RocksDB never again writes to a file, nor syncs it, once a write to it has
// failed; where it is built with assertions, as Debian's is, trying to ends the
// process. It refuses writes by itself until it has recovered, but it does not
// refuse to sync the log. So the library asks here first (CountedDB).
//
// A recovery (by itself once there is space, or Resume) flushes the memtables
// and begins a new log with that. If all of them were empty there is nothing to
// flush: RocksDB then says that it has recovered, and goes on with the file
// that failed. This says so instead, until the database is opened anew.
//
// RocksDB tells of the failure some microseconds after it. A sync that falls
// between the two, or that waits for a synced write which fails, is not
// prevented.
//
// Thread-safe. RocksDB calls it without locks of its own.
class LogWatch final : public rocksdb::EventListener {
 public:
  // OK: the log may be written to and synced. Else RocksDB's error. Nearly
  // always one load.
  rocksdb::Status status() const {
    if (!failed_.load(std::memory_order_acquire)) return rocksdb::Status::OK();
    const std::lock_guard lock(mutex_);
    return error_;
  }

  // Why RocksDB refuses writes, of the application and of peers; OK: it takes
  // them.
  rocksdb::Status writes_stopped() const;

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                         rocksdb::Status* error) override;
  void OnMemTableSealed(const rocksdb::MemTableInfo& info) override;
  void OnErrorRecoveryEnd(
      const rocksdb::BackgroundErrorRecoveryInfo& info) override;

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  rocksdb::Status error_;
  bool new_log_ = false;           // since it failed
  rocksdb::Status stopped_;        // until RocksDB says that it has recovered
  bool soft_errors_stop_ = false;  // see kSoftErrorsStopAfterFullDisk
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_LOG_WATCH_H_

// Watches for failed writes to RocksDB's log and failed syncs of it, also
// within a flush, and for errors after which RocksDB takes no more writes.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_LOG_WATCH_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_LOG_WATCH_H_

#include <atomic>
#include <mutex>

#include "rocksdb/listener.h"
#include "rocksdb/status.h"

namespace rocksync {

// Tells whether RocksDB's log can be written. Once a write to a file has
// failed, RocksDB never writes to the file again, nor syncs it; where it is
// built with assertions, as Debian's is, trying to do so ends the process. It
// refuses writes by itself until it has recovered, but it does not refuse to
// sync the log. So the library asks here first (CountedDB).
//
// A recovery (by itself once there is space, or by Resume) flushes the
// memtables and thereby begins a new log. If all of them are empty, there is
// nothing to flush: RocksDB then reports that it has recovered, and goes on
// with the file that failed. In that case this object goes on reporting an
// error until the database is opened anew.
//
// RocksDB reports the failure some microseconds after it. This does not prevent
// a sync that falls in between, or one that waits for a synced write that
// fails.
//
// Thread-safe. RocksDB calls it without holding locks of its own.
class LogWatch final : public rocksdb::EventListener {
 public:
  // Returns OK if the log may be written and synced, else RocksDB's error.
  // Nearly always one load.
  rocksdb::Status status() const {
    if (!failed_.load(std::memory_order_acquire)) return rocksdb::Status::OK();
    const std::lock_guard lock(mutex_);
    return error_;
  }

  // Returns why RocksDB refuses writes, of the application and of peers; OK if
  // it takes them.
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
  bool new_log_ = false;           // since the failure
  rocksdb::Status stopped_;        // until RocksDB says that it has recovered
  bool soft_errors_stop_ = false;  // see kSoftErrorsStopAfterFullDisk
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_LOG_WATCH_H_

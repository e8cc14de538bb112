#include "replication/store/write/log_watch.h"

#include "replication/base/rocksdb_errors.h"
#include "replication/base/rocksdb_version.h"

namespace rocksync {

using rocksdb::BackgroundErrorReason;
using rocksdb::Status;

namespace {

// Whether the log failed in a flush. A flush syncs earlier log files before it
// writes a table, and the reason does not tell which of the two failed.
// RocksDB's file systems name the file. If none is named, an error after which
// RocksDB takes no writes before the next opening counts as one of the log: its
// acknowledged writes may not be durable then, but the process does not end.
bool LogOfAFlushFailed(BackgroundErrorReason reason, const Status& error) {
  if (reason != BackgroundErrorReason::kFlush) return false;
  if (NamesFile(error, ".log")) return true;
  return error.severity() >= Status::Severity::kFatalError &&
         !NamesFile(error, ".sst") && !NamesFile(error, ".blob") &&
         !NamesManifest(error);
}

}  // namespace

Status LogWatch::writes_stopped() const {
  const std::lock_guard lock(mutex_);
  return failed_ ? error_ : stopped_;
}

void LogWatch::OnBackgroundError(BackgroundErrorReason reason, Status* error) {
  if (!error->ok()) {
    const std::lock_guard lock(mutex_);
    // After an error of less severity RocksDB goes on.
    const auto stopping = soft_errors_stop_ ? Status::Severity::kSoftError
                                            : Status::Severity::kHardError;
    if (error->severity() >= stopping) stopped_ = *error;
  }
  // kMemTable is also the reason if a log could not be replaced by a new one.
  if (reason != BackgroundErrorReason::kWriteCallback &&
      reason != BackgroundErrorReason::kMemTable &&
      !LogOfAFlushFailed(reason, *error)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!failed_) new_log_ = false;
  // Another listener may have cleared the error, but the file stays as it is.
  if (error->ok()) {
    error_ = Status::IOError("rocksync: a write to RocksDB's log failed",
                             "close the database and open it again");
  } else if (!failed_ || error->severity() > error_.severity()) {
    error_ = *error;
  }
  failed_.store(true, std::memory_order_release);
}

// After a failure only a recovery seals a memtable, and it has begun a new log.
void LogWatch::OnMemTableSealed(const rocksdb::MemTableInfo&) {
  if (!failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  new_log_ = true;
}

void LogWatch::OnErrorRecoveryEnd(
    const rocksdb::BackgroundErrorRecoveryInfo& info) {
  const std::lock_guard lock(mutex_);
  if (!info.new_bg_error.ok()) return;
  stopped_ = Status::OK();
  if (kSoftErrorsStopAfterFullDisk &&
      info.old_bg_error.severity() >= Status::Severity::kHardError) {
    soft_errors_stop_ = info.old_bg_error.IsNoSpace();
  }
  if (!failed_) return;
  if (new_log_) {
    error_ = Status::OK();
    failed_.store(false, std::memory_order_release);
    return;
  }
  error_ = Status::IOError(
      "rocksync: RocksDB has recovered from an error, but not its log, which "
      "cannot be written any more; close the database and open it again",
      error_.ToString());
}

}  // namespace rocksync

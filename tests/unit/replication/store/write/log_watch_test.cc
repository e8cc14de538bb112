#include "replication/store/write/log_watch.h"

#include <gtest/gtest.h>

#include "rocksdb/listener.h"
#include "rocksdb/status.h"

namespace rocksync {
namespace {

using rocksdb::BackgroundErrorReason;
using rocksdb::Status;

Status Severe(Status::Severity severity) {
  return Status(Status::IOError("too many open files"), severity);
}

TEST(LogWatch, TellsWhetherRocksDBTakesWrites) {
  LogWatch watch;
  EXPECT_TRUE(watch.writes_stopped().ok());
  Status error = Severe(Status::Severity::kSoftError);
  watch.OnBackgroundError(BackgroundErrorReason::kCompaction, &error);
  EXPECT_TRUE(watch.writes_stopped().ok()) << "it tries again by itself";

  error = Severe(Status::Severity::kFatalError);
  watch.OnBackgroundError(BackgroundErrorReason::kFlush, &error);
  EXPECT_TRUE(watch.writes_stopped().IsIOError());
  EXPECT_TRUE(watch.status().ok()) << "the log is as it was";

  rocksdb::BackgroundErrorRecoveryInfo recovery;
  recovery.new_bg_error = Severe(Status::Severity::kHardError);
  watch.OnErrorRecoveryEnd(recovery);
  EXPECT_FALSE(watch.writes_stopped().ok()) << "it did not recover";
  recovery.new_bg_error = Status::OK();
  watch.OnErrorRecoveryEnd(recovery);
  EXPECT_TRUE(watch.writes_stopped().ok());
}

}  // namespace
}  // namespace rocksync

#include "replication/store/write/log_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/listener.h"
#include "rocksdb/status.h"

namespace rocksync {
namespace {

using rocksdb::BackgroundErrorReason;
using rocksdb::Status;

Status Severe(Status::Severity severity, const std::string& file = "7.sst") {
  return Status(Status::IOError("While opening " + file, "Too many open files"),
                severity);
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

TEST(LogWatch, ASoftErrorAfterAFullDiskStopsWritesInOlderVersions) {
  LogWatch watch;
  const auto full = [&watch](BackgroundErrorReason reason,
                             Status::Severity severity) {
    Status error(Status::NoSpace("While appending to 7.sst"), severity);
    watch.OnBackgroundError(reason, &error);
    return error;
  };
  rocksdb::BackgroundErrorRecoveryInfo recovery;
  recovery.old_bg_error =
      full(BackgroundErrorReason::kFlush, Status::Severity::kHardError);
  watch.OnErrorRecoveryEnd(recovery);
  EXPECT_TRUE(watch.writes_stopped().ok());
  for (int i = 0; i < 2; ++i) {
    recovery.old_bg_error =
        full(BackgroundErrorReason::kCompaction, Status::Severity::kSoftError);
    EXPECT_EQ(watch.writes_stopped().IsNoSpace(), kSoftErrorsStopAfterFullDisk);
    watch.OnErrorRecoveryEnd(recovery);
    EXPECT_TRUE(watch.writes_stopped().ok());
  }
  // Of other errors RocksDB recovers in another way.
  recovery.old_bg_error = Severe(Status::Severity::kHardError);
  watch.OnErrorRecoveryEnd(recovery);
  full(BackgroundErrorReason::kCompaction, Status::Severity::kSoftError);
  EXPECT_TRUE(watch.writes_stopped().ok());
}

TEST(LogWatch, AFlushFailsAtTheLogOrAtTheTable) {
  using Severity = Status::Severity;
  const auto after = [](const Status& flush) {
    LogWatch watch;
    Status error = flush;
    watch.OnBackgroundError(BackgroundErrorReason::kFlush, &error);
    return watch.status();
  };
  EXPECT_TRUE(after(Severe(Severity::kFatalError, "/d/8.log")).IsIOError());
  EXPECT_TRUE(after(Severe(Severity::kHardError, "/d/8.log")).IsIOError());
  EXPECT_TRUE(after(Severe(Severity::kFatalError, "what?")).IsIOError());
  EXPECT_TRUE(after(Severe(Severity::kHardError, "what?")).ok());
  for (const char* file : {"/d/7.sst", "/d/7.blob", "/d/MANIFEST-5"}) {
    EXPECT_TRUE(after(Severe(Severity::kFatalError, file)).ok()) << file;
  }
  // Of a path the directories say nothing.
  for (const char* file : {"/1.log/7.sst", "/d.log/7.sst", "/7.logs/7.sst"}) {
    EXPECT_TRUE(after(Severe(Severity::kHardError, file)).ok()) << file;
  }
  for (const char* file : {"/7.sst/8.log", "/MANIFEST/8.log: no space"}) {
    EXPECT_FALSE(after(Severe(Severity::kHardError, file)).ok()) << file;
  }
  EXPECT_FALSE(after(Severe(Severity::kFatalError, "/7.sst/what?")).ok());
}

}  // namespace
}  // namespace rocksync

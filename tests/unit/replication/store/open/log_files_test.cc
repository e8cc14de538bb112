// Where a log is, and where it was, without a database.

#include "replication/store/open/log_files.h"

#include <gmock/gmock.h>

#include <memory>
#include <set>
#include <string>

#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using testing::ElementsAre;
using testing::HasSubstr;

class LogFilesTest : public testing::Test {
 protected:
  LogFilesTest() {
    for (const char* directory : {"/db", "/was", "/log"}) {
      EXPECT_TRUE(env_->CreateDirIfMissing(directory).ok());
    }
  }

  void Write(const std::string& path, const std::string& bytes = "x") {
    EXPECT_TRUE(rocksdb::WriteStringToFile(env_.get(), bytes, path).ok());
  }
  Status IsTheSame() {
    return CheckLogIsTheSame(env_.get(), "/db", "/was", "/log");
  }
  Status IsThere(const std::string& directory, bool may_be_lost = false) {
    Marker marker;
    marker.directory = "/db";
    marker.wal_dir = "/log";
    return CheckLogIsThere(env_.get(), marker, directory, "/log", may_be_lost);
  }

  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
};

TEST_F(LogFilesTest, OnlyRocksDBsNamesAreLogs) {
  for (const char* name : {"000007.log", "1234567.log", "LOG", "LOG.old.1",
                           "a.log", ".log", "7.log.bak", "-7.log"}) {
    Write(std::string("/log/") + name);
  }
  std::set<std::string> logs;
  ASSERT_TRUE(ListLogFiles(env_.get(), "/log", &logs).ok());
  EXPECT_THAT(logs, ElementsAre("000007.log", "1234567.log"));
  EXPECT_EQ(LogNumber("000007.log"), 7u);
  EXPECT_EQ(LogNumber("1234567.log"), 1234567u);
  logs.clear();
  EXPECT_TRUE(ListLogFiles(env_.get(), "/nowhere", &logs).ok());
  EXPECT_TRUE(logs.empty());
}

TEST_F(LogFilesTest, TablesHaveTwoEndings) {
  for (const char* name : {"000007.sst", "000007.ldb", "000007.blob"}) {
    EXPECT_TRUE(IsTableOrBlob(name)) << name;
  }
  for (const char* name : {"000007.log", "sst", "000007.sst.trash"}) {
    EXPECT_FALSE(IsTableOrBlob(name)) << name;
  }
}

TEST_F(LogFilesTest, ALogThatWasMovedIsTheSame) {
  EXPECT_TRUE(IsTheSame().ok());
  Write("/log/000007.log", "pairs");
  EXPECT_TRUE(IsTheSame().ok()) << "of the one before nothing is known";
  Write("/was/000007.log", "pairs");
  EXPECT_TRUE(IsTheSame().ok());
  // An empty one says nothing.
  Write("/was/000009.log", "");
  EXPECT_TRUE(IsTheSame().ok());
}

TEST_F(LogFilesTest, AnotherLogIsNot) {
  Write("/was/000007.log", "pairs");
  Status status = IsTheSame();
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_THAT(status.ToString(), HasSubstr("and is not in /log"));
  Write("/log/000007.log", "Pairs");
  EXPECT_THAT(IsTheSame().ToString(),
              HasSubstr("/log, where another file has that name"));
  Write("/log/000007.log", "pairs");
  Write("/log/000008.log", "");
  EXPECT_THAT(IsTheSame().ToString(),
              HasSubstr("/log holds another one (000008.log)"));
}

TEST_F(LogFilesTest, OneThatIsNowhereIsLost) {
  const Status lost = IsThere("/db");
  EXPECT_TRUE(lost.IsAborted()) << lost.ToString();
  EXPECT_TRUE(IsThere("/db", /*may_be_lost=*/true).ok());
  EXPECT_TRUE(IsThere("/copied").ok()) << "nothing is known of a copy";
  EXPECT_TRUE(IsThere("").ok());
  Write("/log/000007.log");
  EXPECT_TRUE(IsThere("/db").ok());
}

TEST_F(LogFilesTest, WhereNoDatabaseIsNoneMayHaveBeen) {
  EXPECT_TRUE(CheckNothingIsThere(env_.get(), "/db").ok());
  Write("/db/LOG");
  // As a creation leaves it that was interrupted.
  Write("/db/MANIFEST-000001");
  EXPECT_TRUE(CheckNothingIsThere(env_.get(), "/db").ok());
  for (const char* name : {"000007.sst", "000007.log", "MANIFEST-000004"}) {
    const std::string path = std::string("/db/") + name;
    Write(path);
    const Status status = CheckNothingIsThere(env_.get(), "/db");
    EXPECT_TRUE(status.IsCorruption()) << name << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr("has lost its CURRENT file"));
    EXPECT_TRUE(env_->DeleteFile(path).ok());
  }
}

TEST_F(LogFilesTest, ANewDatabaseGetsNoLogOfAnother) {
  EXPECT_TRUE(CheckNoLogIsThere(env_.get(), "/db", "/log").ok());
  EXPECT_TRUE(CheckNoLogIsThere(env_.get(), "/db", "/nowhere").ok());
  Write("/log/notes");
  EXPECT_TRUE(CheckNoLogIsThere(env_.get(), "/db", "/log").ok());
  for (const char* name :
       {"000007.sst", "000007.log", "MANIFEST-000004", "CURRENT"}) {
    const std::string path = std::string("/log/") + name;
    Write(path);
    const Status status = CheckNoLogIsThere(env_.get(), "/db", "/log");
    EXPECT_TRUE(status.IsInvalidArgument()) << name << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr(name));
    EXPECT_TRUE(env_->DeleteFile(path).ok());
  }
}

}  // namespace
}  // namespace rocksync

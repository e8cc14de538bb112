// What the marker says of a database's files, against what lies there.

#include "replication/store/open/files_left.h"

#include <gmock/gmock.h>
#include <xxhash.h>

#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "tests/unit/replication/store/listing_marker.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using testing::HasSubstr;

constexpr char kManifest[] = "MANIFEST-000005\n";

class FilesLeftTest : public testing::Test {
 protected:
  FilesLeftTest() {
    EXPECT_TRUE(env_->CreateDirIfMissing("/db").ok());
    EXPECT_TRUE(env_->CreateDirIfMissing("/log").ok());
    marker_.directory = "/db";
    marker_.wal_dir = "/log";
    Write("/db/MANIFEST-000005", "a list of files");
    Write("/log/000004.log", "pairs");
    marker_.files = {{"MANIFEST-000005", 15},
                     {"000004.log", 5, XXH3_64bits("pairs", 5)}};
  }

  void Write(const std::string& path, const std::string& bytes) {
    EXPECT_TRUE(rocksdb::WriteStringToFile(env_.get(), bytes, path).ok());
  }
  void Remove(const std::string& path) {
    EXPECT_TRUE(env_->DeleteFile(path).ok());
  }
  // What CheckFilesLeft says; empty: nothing is lost.
  std::string Check(const std::string& manifest = kManifest) {
    const Status status =
        CheckFilesLeft(env_.get(), marker_, "/db", "/log", manifest, &loss_);
    EXPECT_TRUE(status.ok() || status.IsAborted()) << status.ToString();
    EXPECT_EQ(status.ok(), loss_ == Loss::kNone);
    return status.ok() ? "" : status.ToString();
  }

  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
  Marker marker_ = Listing({kNew});
  Loss loss_ = Loss::kNone;
};

TEST_F(FilesLeftTest, AsTheyWereLeftOrLonger) {
  EXPECT_EQ(Check(), "");
  Write("/log/000004.log", "pairs, and zeroes of the file system's");
  Write("/db/MANIFEST-000005", "a list of files, and a record more");
  EXPECT_EQ(Check(), "");
}

TEST_F(FilesLeftTest, AManifestThatIsShorterOrGone) {
  Write("/db/MANIFEST-000005", "a list of file");
  EXPECT_THAT(Check(), HasSubstr("/db/MANIFEST-000005 has 14 bytes, and was "
                                 "closed with 15 bytes"));
  EXPECT_EQ(loss_, Loss::kState);
  Remove("/db/MANIFEST-000005");
  EXPECT_THAT(Check(), HasSubstr("/db/MANIFEST-000005 is not there"));
  EXPECT_EQ(loss_, Loss::kState);
}

TEST_F(FilesLeftTest, ALogThatIsGoneShorterOrChanged) {
  for (const bool index_in_tables : {false, true}) {
    marker_.index_in_tables = index_in_tables;
    const Loss of_log = index_in_tables ? Loss::kLog : Loss::kState;
    Write("/log/000004.log", "pair");
    EXPECT_THAT(Check(), HasSubstr("/log/000004.log has 4 bytes"));
    EXPECT_EQ(loss_, of_log);
    Write("/log/000004.log", "Pairs");
    EXPECT_THAT(Check(), HasSubstr("its bytes have changed"));
    EXPECT_EQ(loss_, of_log);
    Remove("/log/000004.log");
    EXPECT_THAT(Check(), HasSubstr("/log/000004.log is not there"));
    EXPECT_EQ(loss_, of_log);
    Write("/log/000004.log", "pairs");
    EXPECT_EQ(Check(), "");
  }
}

TEST_F(FilesLeftTest, SomebodyElseHasOpenedItSince) {
  Remove("/log/000004.log");
  EXPECT_EQ(Check("MANIFEST-000009\n"), "");
  EXPECT_EQ(LostLogOf(env_.get(), marker_, "/log", "MANIFEST-000009\n"), "");
  EXPECT_NE(LostLogOf(env_.get(), marker_, "/log", /*manifest=*/""), "");
}

// After a kill the marker names the MANIFEST alone.
TEST_F(FilesLeftTest, AfterAKillTheLogIsThereAtLeast) {
  marker_.files.pop_back();
  EXPECT_EQ(Check(), "");
  Write("/log/000004.log", "");
  EXPECT_EQ(Check(), "");
  Remove("/log/000004.log");
  EXPECT_THAT(Check(), HasSubstr("there is no *.log in /log"));
}

// An older state was put over a newer one, whose log is still there.
TEST_F(FilesLeftTest, ALaterLogOfMoreThanAnEmptyBatch) {
  Write("/log/000006.log", std::string(128, 'b'));
  EXPECT_EQ(Check(), "");
  Write("/log/000006.log", std::string(129, 'b'));
  EXPECT_THAT(Check(), HasSubstr("whose log is there: /log/000006.log"));
  EXPECT_EQ(loss_, Loss::kState);
  // A MANIFEST is there that is newer than the one in use.
  Remove("/log/000006.log");
  Write("/db/MANIFEST-000007", "");
  EXPECT_EQ(Check(), "");
  Write("/log/000008.log", "");
  EXPECT_THAT(Check(), HasSubstr("/log/000008.log"));
}

// Where sizes do not count, as of files that are used again.
TEST_F(FilesLeftTest, WithoutASizeItIsEnoughThatItIsThere) {
  marker_.files.back() = {"000004.log"};
  Write("/log/000004.log", "");
  Write("/log/000006.log", std::string(1000, 'b'));
  EXPECT_EQ(Check(), "");
  Remove("/log/000004.log");
  EXPECT_THAT(Check(), HasSubstr("/log/000004.log is not there"));
}

TEST_F(FilesLeftTest, TheRestOfALossIsNamedUntilItIsANewReplica) {
  ASSERT_TRUE(WriteMarker(env_.get(), "/db", marker_).ok());
  for (const Loss loss : {Loss::kLog, Loss::kState}) {
    ASSERT_TRUE(NoteSalvage(env_.get(), "/db", loss).ok());
    ASSERT_TRUE(ReadMarker(env_.get(), "/db", &marker_).ok());
    EXPECT_THAT(Check(), HasSubstr("what was left after a loss of files"));
    EXPECT_EQ(loss_, loss);
  }
}

}  // namespace
}  // namespace rocksync

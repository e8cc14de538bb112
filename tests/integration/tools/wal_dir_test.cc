// Offline commands on databases whose log is in a directory of its own, and on
// copies of such: none loses what is in the log, and none takes the log of
// another database for its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"
#include "tests/support/temporary_directory.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/id.h"
#include "tools/rescue.h"
#include "tools/restamp.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr int kPairs = 50;

class WalDirTest : public testing::Test {
 protected:
  void SetUp() override {
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
    options_.create_if_missing = true;
    options_.wal_dir = Path("log");
    std::ofstream(root_ / "secret", std::ios::binary) << std::string(32, '\7');
    ASSERT_TRUE(Ok(Open("db")));
    rocksdb::WriteOptions synced;
    synced.sync = true;
    for (int i = 0; i < kPairs; ++i) {
      ASSERT_TRUE(Ok(db_->Put(synced, "k" + std::to_string(i), "v")));
    }
  }
  void TearDown() override { db_.reset(); }

  static testing::AssertionResult Ok(const rocksdb::Status& status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.ToString();
  }
  std::string Path(const std::string& name) const { return root_ / name; }

  rocksdb::Status Open(const std::string& name) {
    db_.reset();
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options_, replication_, Path(name), &raw);
    db_.reset(raw);
    return status;
  }
  void Close() {
    ASSERT_TRUE(Ok(db_->Close()));
    db_.reset();
  }
  void MakeCheckpoint(const std::string& name) {
    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_TRUE(Ok(rocksdb::Checkpoint::Create(db_.get(), &raw)));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    ASSERT_TRUE(Ok(checkpoint->CreateCheckpoint(Path(name))));
  }
  // Of the application's family, with the right options.
  int CountPairs(const std::string& name, const std::string& wal_dir,
                 bool plain) {
    rocksdb::DBOptions options;
    options.wal_dir = wal_dir;
    std::vector<rocksdb::ColumnFamilyDescriptor> families = {{"default", {}}};
    if (!plain) families.push_back({kIndexFamilyName, {}});
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    std::unique_ptr<rocksdb::DB> db;
    EXPECT_TRUE(
        Ok(OpenPlainForReadOnly(options, Path(name), families, &handles, &db)));
    if (db == nullptr) return -1;
    int pairs = 0;
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[0]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++pairs;
    it.reset();
    for (auto* handle : handles) {
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
    }
    return pairs;
  }
  Credentials TheCredentials() const {
    Credentials credentials;
    credentials.cluster = "test";
    credentials.secret_file = root_ / "secret";
    return credentials;
  }

  int Detach(const std::string& name, std::vector<std::string> wal_dirs = {}) {
    Clear();
    return RunDetach({Path(name), std::move(wal_dirs)}, out_, err_);
  }
  int Restamp(const std::string& name, std::vector<std::string> wal_dirs = {}) {
    Clear();
    RestampToolOptions options;
    options.directory = Path(name);
    options.credentials = TheCredentials();
    options.wal_dirs = std::move(wal_dirs);
    return RunRestamp(options, out_, err_);
  }
  int Diff(const std::string& left, const std::string& right,
           std::vector<std::string> wal_dirs = {}) {
    Clear();
    DiffOptions options;
    options.left = Path(left);
    options.right = Path(right);
    options.wal_dirs = std::move(wal_dirs);
    return RunDiff(options, out_, err_);
  }
  void Clear() {
    out_.str("");
    err_.str("");
  }

  const TemporaryDirectory root_;
  rocksdb::Options options_;
  ReplicatedDBOptions replication_;
  std::unique_ptr<ReplicatedDB> db_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(WalDirTest, DetachKeepsWhatIsInTheLog) {
  Close();
  ASSERT_EQ(Detach("db"), 0) << err_.str();
  EXPECT_EQ(CountPairs("db", Path("log"), true), kPairs);
}

TEST_F(WalDirTest, WhatIsPlainAlreadyIsCalledSo) {
  Close();
  ASSERT_EQ(Detach("db"), 0) << err_.str();
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is a plain database already"));
  EXPECT_EQ(Restamp("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is a plain database, not a replica"));
  EXPECT_EQ(Detach("nowhere"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("nowhere: is not there"));
}

TEST_F(WalDirTest, RestampKeepsWhatIsInTheLog) {
  Close();
  ASSERT_EQ(Restamp("db"), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("of 50 pairs"));
  EXPECT_EQ(CountPairs("db", Path("log"), false), kPairs);
  ASSERT_TRUE(Ok(Open("db")));
  EXPECT_TRUE(db_->GetIndexBuildProgress().done);
}

// The same by the interface, whose caller brings the options.
TEST_F(WalDirTest, CallersOptionsThatMissTheLogAreRefused) {
  Close();
  const rocksdb::Status detached = ReplicatedDB::Detach({}, Path("db"));
  EXPECT_TRUE(detached.IsInvalidArgument()) << detached.ToString();
  EXPECT_THAT(detached.ToString(), HasSubstr(Path("log")));
  RestampResult result;
  const rocksdb::Status restamped =
      ReplicatedDB::Restamp({}, replication_, Path("db"), {}, &result);
  EXPECT_TRUE(restamped.IsInvalidArgument()) << restamped.ToString();
  EXPECT_THAT(restamped.ToString(), HasSubstr(Path("log")));
  EXPECT_EQ(CountPairs("db", Path("log"), false), kPairs);
  rocksdb::DBOptions right;
  right.wal_dir = Path("log/");
  ASSERT_TRUE(
      Ok(ReplicatedDB::Restamp(right, replication_, Path("db"), {}, &result)));
  ASSERT_TRUE(Ok(ReplicatedDB::Detach(right, Path("db"))));
  EXPECT_EQ(CountPairs("db", Path("log"), true), kPairs);
}

TEST_F(WalDirTest, CommandsThatReadSeeWhatIsInTheLog) {
  Close();
  options_.wal_dir = "";
  ASSERT_TRUE(Ok(Open("empty")));
  Close();
  EXPECT_EQ(Diff("db", "empty"), kDiffDifferent) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("50 only on the left"));
  VerifyToolOptions verify;
  verify.left = Path("db");
  verify.right = Path("empty");
  verify.credentials = TheCredentials();
  Clear();
  EXPECT_EQ(RunVerify(verify, out_, err_), kVerifyDifferent) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("50 keys"));
  RescueOptions rescue;
  rescue.directory = Path("db");
  rescue.against = Path("empty");
  rescue.output = Path("rescued");
  rescue.credentials = TheCredentials();
  Clear();
  EXPECT_EQ(RunRescue(rescue, out_, err_), kRescueExported) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("50 pairs"));
  EXPECT_EQ(err_.str(), "");
  // It reads what is there, and says what is not.
  fs::remove_all(Path("log"));
  fs::create_directory(Path("log"));
  rescue.output = Path("rescued without");
  Clear();
  EXPECT_NE(RunRescue(rescue, out_, err_), kRescueNothing) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("the log is lost, or a part of it: "));
}

// Its OPTIONS file is that of the original, whose log is not the copy's.
TEST_F(WalDirTest, ACopyDoesNotTakeTheLogOfItsOriginal) {
  MakeCheckpoint("copy");
  ASSERT_TRUE(Ok(db_->Put({}, "later", "v")));
  const std::string own = Path("copy") + "=" + Path("copy");
  EXPECT_EQ(Detach("copy"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir"));
  EXPECT_THAT(err_.str(), HasSubstr(Path("log")));
  EXPECT_EQ(Restamp("copy"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir"));
  Close();
  EXPECT_EQ(Diff("copy", "db"), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir"));
  EXPECT_EQ(Diff("copy", "db", {own}), kDiffDifferent) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("50 pairs the same"));
  EXPECT_EQ(Restamp("copy", {own}), 0) << err_.str();
  EXPECT_EQ(Detach("copy", {own}), 0) << err_.str();
  EXPECT_EQ(CountPairs("copy", "", true), kPairs);
  EXPECT_EQ(CountPairs("db", Path("log"), false), kPairs + 1);
  // A misspelt one is not passed over.
  EXPECT_EQ(Diff("copy", "db", {"other=x"}), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("other=x"));
}

TEST_F(WalDirTest, AMovedDatabaseIsToldWhereItsLogIs) {
  Close();
  fs::rename(Path("db"), Path("moved"));
  EXPECT_EQ(Detach("moved"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir"));
  EXPECT_EQ(Detach("moved", {Path("moved") + "=" + Path("nowhere")}), 2);
  ASSERT_EQ(Detach("moved", {Path("moved") + "=" + Path("log")}), 0)
      << err_.str();
  EXPECT_EQ(CountPairs("moved", Path("log"), true), kPairs);
}

TEST_F(WalDirTest, ALogThatIsNotThereIsNotTakenForAnEmptyOne) {
  Close();
  fs::rename(Path("log"), Path("away"));
  for (const bool made_again : {false, true}) {
    if (made_again) fs::create_directory(Path("log"));
    EXPECT_EQ(Detach("db"), 2);
    EXPECT_THAT(err_.str(), HasSubstr("has lost its log"));
    EXPECT_EQ(Restamp("db"), 2);
    EXPECT_THAT(err_.str(), HasSubstr("has lost its log"));
  }
  fs::remove(Path("log"));
  fs::rename(Path("away"), Path("log"));
  EXPECT_EQ(Detach("db"), 0) << err_.str();
  EXPECT_EQ(CountPairs("db", Path("log"), true), kPairs);
}

TEST_F(WalDirTest, ARelativePathIsThatOfTheProgramThatGaveIt) {
  Close();
  const std::string before = fs::current_path();
  fs::current_path(root_.path());
  options_.wal_dir = "relative_log";
  const rocksdb::Status opened = Open("second");
  if (opened.ok()) {
    EXPECT_TRUE(Ok(db_->Put({}, "k", "v")));
    Close();
  }
  fs::current_path(before);
  ASSERT_TRUE(Ok(opened));
  ASSERT_EQ(Detach("second"), 0) << err_.str();
  EXPECT_EQ(CountPairs("second", Path("relative_log"), true), 1);
}

TEST_F(WalDirTest, WithoutAnOptionsFileOnlyItsProgramKnows) {
  Close();
  for (const auto& file : fs::directory_iterator(Path("db"))) {
    if (file.path().filename().string().starts_with("OPTIONS-")) {
      fs::remove(file);
    }
  }
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("no OPTIONS file"));
  EXPECT_EQ(Restamp("db"), 2);
  rocksdb::DBOptions right;
  right.wal_dir = Path("log");
  ASSERT_TRUE(Ok(ReplicatedDB::Detach(right, Path("db"))));
  EXPECT_EQ(CountPairs("db", Path("log"), true), kPairs);
}

TEST_F(WalDirTest, ADamagedOptionsFileIsNamed) {
  Close();
  for (const auto& file : fs::directory_iterator(Path("db"))) {
    if (file.path().filename().string().starts_with("OPTIONS-")) {
      ASSERT_TRUE(Ok(rocksdb::WriteStringToFile(rocksdb::Env::Default(),
                                                "damaged\n", file.path())));
    }
  }
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr(Path("db") + "/OPTIONS-"));
  EXPECT_THAT(err_.str(), HasSubstr("open the database once by the program"));
}

// Where the log is said to be is none, and whoever was killed had one.
TEST_F(WalDirTest, ACopyOfOneThatWasKilledNeedsItsLog) {
  fs::copy(Path("db"), Path("copy"), fs::copy_options::recursive);
  fs::copy(Path("log"), Path("copied_log"), fs::copy_options::recursive);
  Close();
  const std::string said = Path("copy") + "=" + Path("copy");
  EXPECT_EQ(Detach("copy", {said}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("no *.log in " + Path("copy")));
  EXPECT_THAT(err_.str(), HasSubstr(Path("log")));
  EXPECT_FALSE(ReplicatedDB::Detach({}, Path("copy")).ok());
  for (const auto& file : fs::directory_iterator(Path("copied_log"))) {
    if (file.path().extension() == ".log") {
      fs::copy(file.path(), Path("copy"));
    }
  }
  EXPECT_EQ(Detach("copy", {said}), 0) << err_.str();
  EXPECT_EQ(CountPairs("copy", "", true), kPairs);

  fs::rename(Path("db"), Path("moved"));
  EXPECT_EQ(Detach("moved", {Path("moved") + "=" + Path("moved")}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("was written to " + Path("log")));
  EXPECT_EQ(Detach("moved", {Path("moved") + "=" + Path("log")}), 0)
      << err_.str();
  EXPECT_EQ(CountPairs("moved", Path("log"), true), kPairs);
}

// RocksDB cannot make it from its name.
class ByLength final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "ByLength"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override {
    return false;
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST_F(WalDirTest, AnApplicationsComparatorIsNamed) {
  Close();
  static const ByLength by_length;
  options_.comparator = &by_length;
  options_.wal_dir = Path("second_log");
  ASSERT_TRUE(Ok(Open("second")));
  ASSERT_TRUE(Ok(db_->Put({}, "k", "v")));
  Close();
  EXPECT_EQ(Detach("second"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("ByLength"));
  EXPECT_THAT(err_.str(), HasSubstr("let the program that has it do this"));
  EXPECT_EQ(Diff("second", "db"), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("ByLength"));
  EXPECT_THAT(err_.str(), HasSubstr("compare replicas that run"));
  ASSERT_TRUE(Ok(Open("second")));
  std::string value;
  EXPECT_TRUE(Ok(db_->Get({}, "k", &value)));
}

TEST_F(WalDirTest, IdNeedsNoComparatorOfAnApplication) {
  Close();
  static const ByLength by_length;
  options_.comparator = &by_length;
  options_.wal_dir.clear();
  ASSERT_TRUE(Ok(Open("second")));
  ASSERT_TRUE(Ok(db_->Put({}, "bb", "v")));
  ASSERT_TRUE(Ok(db_->Flush({})));
  ASSERT_TRUE(Ok(db_->Put({}, "c", "v")));
  const uint64_t id = db_->Identity().replica_id;
  Close();
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunId({Path("second")}, out, err), 0) << err.str();
  EXPECT_EQ(out.str(), ReplicaIdHex(id) + "\n");
}

TEST_F(WalDirTest, IdReadsAndWritesNothing) {
  const uint64_t id = db_->Identity().replica_id;
  std::ostringstream used;
  EXPECT_EQ(RunId({Path("db")}, used, used), 2);
  EXPECT_THAT(used.str(), HasSubstr("in use"));
  Close();
  const auto contents = [this] {
    std::vector<std::string> files;
    for (const std::string directory : {"db", "log"}) {
      for (const auto& file : fs::directory_iterator(Path(directory))) {
        files.push_back(file.path().string() + " " +
                        std::to_string(fs::file_size(file)));
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  };
  const std::vector<std::string> before = contents();
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunId({Path("db")}, out, err), 0) << err.str();
  EXPECT_EQ(out.str(), ReplicaIdHex(id) + "\n");
  EXPECT_EQ(contents(), before);

  EXPECT_EQ(RunId({Path("log")}, out, err), 2);
  EXPECT_THAT(err.str(),
              HasSubstr("is no database: it is for the log or the tables"));
  EXPECT_THAT(err.str(), HasSubstr("of the database in " + Path("db")));
}

}  // namespace
}  // namespace rocksync

// What commands on an offline database leave behind, and what they say of one
// that they do not take.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "replication/metrics/json.h"
#include "replication/store/format/clone_record.h"
#include "rocksdb/db.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksync/cluster_secret.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"
#include "tests/support/open_plain.h"
#include "tests/support/own_mounts.h"
#include "tests/support/temporary_directory.h"
#include "tools/credentials.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/id.h"
#include "tools/repair.h"
#include "tools/rescue.h"
#include "tools/restamp.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

constexpr fs::perms kReadable =
    fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
constexpr fs::perms kEnterable =
    fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;

// Runs in a directory of its own, so that databases have relative names, as a
// command has them.
class OfflineCommandsTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::permissions(root_.path(), fs::perms::all);
    fs::current_path(root_.path());
    std::ofstream("secret", std::ios::binary) << std::string(32, '\7');
    std::ofstream("other-secret", std::ios::binary) << std::string(32, '\10');
    std::ofstream("hex-secret", std::ios::binary) << std::string(64, 'a');
    ASSERT_TRUE(Open("db"));
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(Ok(db_->Put({}, "k" + std::to_string(i), "v")));
    }
    id_ = ReplicaIdHex(db_->Identity().replica_id);
  }
  void TearDown() override {
    db_.reset();
    fs::current_path(before_);
  }

  static testing::AssertionResult Ok(const rocksdb::Status& status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.ToString();
  }
  testing::AssertionResult Open(const std::string& name) {
    db_.reset();
    ReplicatedDBOptions replication;
    replication.cluster_name = "test";
    replication.cluster_secret.fill(7);
    rocksdb::Options options;
    options.create_if_missing = true;
    options.track_and_verify_wals_in_manifest = track_wals_;
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options, replication, name, &raw);
    db_.reset(raw);
    return Ok(status);
  }
  void Close() {
    ASSERT_TRUE(Ok(db_->Close()));
    db_.reset();
  }
  void MakePlain(const std::string& name) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(Ok(OpenPlain(options, name, &raw)));
    const std::unique_ptr<rocksdb::DB> plain(raw);
    ASSERT_TRUE(Ok(plain->Put({}, "k", "v")));
  }

  // All lines of the newest OPTIONS file that say where the log is.
  static std::vector<std::string> WalDirLines(const std::string& name) {
    fs::path newest;
    for (const auto& file : fs::directory_iterator(name)) {
      const std::string base = file.path().filename();
      if (base.starts_with("OPTIONS-") && base > newest.filename().string()) {
        newest = file.path();
      }
    }
    std::vector<std::string> found;
    std::ifstream in(newest);
    for (std::string line; std::getline(in, line);) {
      if (line.find(" wal_dir=") == std::string::npos) continue;
      found.push_back(line.substr(line.find("wal_dir=")));
    }
    return found;
  }
  // Names and sizes.
  static std::vector<std::string> Files(const std::string& name) {
    std::vector<std::string> files;
    for (const auto& file : fs::directory_iterator(name)) {
      files.push_back(file.path().string() + " " +
                      std::to_string(fs::file_size(file)));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  Credentials Right() const {
    Credentials credentials;
    credentials.cluster = "test";
    credentials.secret_file = "secret";
    return credentials;
  }
  int Detach(const std::string& name) {
    Clear();
    return RunDetach({name}, out_, err_);
  }
  int Restamp(const std::string& name, const Credentials& credentials) {
    Clear();
    RestampToolOptions options;
    options.directory = name;
    options.credentials = credentials;
    return RunRestamp(options, out_, err_);
  }
  int Id(const std::string& name) {
    Clear();
    return RunId({name}, out_, err_);
  }
  int MakeId(const std::string& name) {
    Clear();
    return RunId({name, {}, /*make=*/true}, out_, err_);
  }
  int Diff(const std::string& left, const std::string& right) {
    Clear();
    DiffOptions options;
    options.left = left;
    options.right = right;
    return RunDiff(options, out_, err_);
  }
  int Verify(const std::string& left, const std::string& right) {
    Clear();
    VerifyToolOptions options;
    options.left = left;
    options.right = right;
    options.credentials = Right();
    return RunVerify(options, out_, err_);
  }
  int Rescue(const std::string& name, const std::string& against) {
    Clear();
    RescueOptions options;
    options.directory = name;
    options.against = against;
    options.output = "rescued";
    options.credentials = Right();
    return RunRescue(options, out_, err_);
  }
  void Clear() {
    out_.str("");
    err_.str("");
  }

  bool track_wals_ = false;
  std::string before_;
  const TemporaryDirectory root_;
  std::string id_;
  std::unique_ptr<ReplicatedDB> db_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// Whoever opens a copy with its OPTIONS file must not write to the log of the
// original.
TEST_F(OfflineCommandsTest, NoCommandWritesWhereTheLogIs) {
  Close();
  ASSERT_EQ(WalDirLines("db"), std::vector<std::string>());
  ASSERT_EQ(Restamp("db", Right()), 0) << err_.str();
  EXPECT_EQ(WalDirLines("db"), std::vector<std::string>());
  Credentials wrong = Right();
  wrong.secret_file = "other-secret";
  EXPECT_EQ(Restamp("db", wrong), 2);
  EXPECT_EQ(WalDirLines("db"), std::vector<std::string>());
  fs::copy("db", "copy");
  EXPECT_EQ(Diff("db", "copy"), kDiffEqual) << err_.str();
  EXPECT_EQ(Id("copy"), 0) << err_.str();
  ASSERT_EQ(Detach("copy"), 0) << err_.str();
  EXPECT_EQ(WalDirLines("copy"), std::vector<std::string>());
}

TEST_F(OfflineCommandsTest, ARefusedRestampLeavesTheReplicaAsItWas) {
  Close();
  const std::vector<std::string> before = Files("db");
  Credentials wrong = Right();
  wrong.secret_file = "other-secret";
  EXPECT_EQ(Restamp("db", wrong), 2);
  EXPECT_THAT(err_.str(), HasSubstr("the cluster's secret is not the one"));
  EXPECT_EQ(Files("db"), before);
  wrong = Right();
  wrong.cluster = "another";
  EXPECT_EQ(Restamp("db", wrong), 2);
  EXPECT_THAT(err_.str(), HasSubstr("belongs to cluster 'test'"));
  EXPECT_THAT(err_.str(), HasSubstr("name the one that it belongs to "
                                    "(--cluster)"));
  EXPECT_EQ(Files("db"), before);
  fs::copy("db", "copy");
  EXPECT_EQ(Verify("db", "copy"), kVerifyEqual) << err_.str();
  ASSERT_TRUE(Open("db"));
  EXPECT_TRUE(db_->GetIndexBuildProgress().done);
}

TEST_F(OfflineCommandsTest, OneThatSomebodyWroteToIsDescribed) {
  fs::copy("db", "killed");
  Close();
  ASSERT_TRUE(Ok(PutByPlainProgram("db", "k", "v")));
  const std::vector<std::string> before = Files("db");
  EXPECT_EQ(Restamp("db", Right()), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr("the database db was written to since its last clean "
                        "close, and its index was not compared with it since"));
  EXPECT_THAT(err_.str(), HasSubstr("open it once with its program"));
  EXPECT_EQ(Files("db"), before);

  ASSERT_TRUE(Ok(PutByPlainProgram("killed", "k", "v")));
  const std::vector<std::string> killed = Files("killed");
  EXPECT_EQ(Restamp("killed", Right()), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr("the database killed was not closed cleanly, and "
                        "another program may have written to it since"));
  EXPECT_EQ(Files("killed"), killed);
}

TEST_F(OfflineCommandsTest, TheIdOfACopyIsNotItsOwn) {
  {
    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_TRUE(Ok(rocksdb::Checkpoint::Create(db_.get(), &raw)));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    ASSERT_TRUE(Ok(checkpoint->CreateCheckpoint("checkpoint")));
    rocksdb::BackupEngine* engine = nullptr;
    ASSERT_TRUE(Ok(rocksdb::BackupEngine::Open(
        rocksdb::Env::Default(), rocksdb::BackupEngineOptions("backup"),
        &engine)));
    const std::unique_ptr<rocksdb::BackupEngine> backup(engine);
    ASSERT_TRUE(Ok(backup->CreateNewBackup(db_.get())));
    ASSERT_TRUE(Ok(backup->RestoreDBFromLatestBackup("restored", "restored")));
  }
  Close();
  for (const std::string name : {"checkpoint", "restored"}) {
    EXPECT_EQ(Id(name), 2);
    EXPECT_EQ(out_.str(), "");
    EXPECT_THAT(err_.str(), HasSubstr(name + " is a copy of replica " + id_));
    EXPECT_THAT(err_.str(), HasSubstr("option open_copy_as_new_replica "
                                      "(rocksync-store: --as-new-replica)"));
    EXPECT_THAT(err_.str(), HasSubstr("it gets an id of its own"));
  }
  ASSERT_EQ(Id("db"), 0) << err_.str();
  EXPECT_EQ(out_.str(), id_ + "\n");
  // Put back in place of what was written since.
  fs::copy("db", "older");
  ASSERT_TRUE(Open("db"));
  ASSERT_TRUE(Ok(db_->Put({}, "later", "v")));
  Close();
  fs::copy("db/ROCKSYNC", "older/ROCKSYNC",
           fs::copy_options::overwrite_existing);
  EXPECT_EQ(Id("older"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("not in the state that it was left in"));
}

TEST_F(OfflineCommandsTest, AnIdIsMadeBeforeTheReplicaIs) {
  EXPECT_EQ(Id("new"), 2);
  ASSERT_EQ(MakeId("new"), 0) << err_.str();
  const std::string made = out_.str();
  ASSERT_EQ(made.size(), 17u) << made;
  ASSERT_EQ(MakeId("new"), 0);
  EXPECT_EQ(out_.str(), made);
  ASSERT_EQ(Id("new"), 0);
  EXPECT_EQ(out_.str(), made);

  Close();
  ASSERT_TRUE(Open("new"));
  EXPECT_EQ(ReplicaIdHex(db_->Identity().replica_id) + "\n", made);
  EXPECT_FALSE(fs::exists("new/ROCKSYNC.id"));
  Close();
  ASSERT_EQ(MakeId("new"), 0) << err_.str();
  EXPECT_EQ(out_.str(), made);
  EXPECT_FALSE(fs::exists("new/ROCKSYNC.id"));
  // It is for the first opening alone.
  std::ofstream("new/ROCKSYNC.id") << "00000000000000aa\n";
  ASSERT_TRUE(Open("new"));
  EXPECT_EQ(ReplicaIdHex(db_->Identity().replica_id) + "\n", made);
  EXPECT_FALSE(fs::exists("new/ROCKSYNC.id"));
}

TEST_F(OfflineCommandsTest, AnIdIsMadeForAPlainDatabase) {
  Close();
  MakePlain("plain");
  EXPECT_EQ(Id("plain"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("plain database"));
  ASSERT_EQ(MakeId("plain"), 0) << err_.str();
  const std::string made = out_.str();
  ASSERT_TRUE(Open("plain"));
  EXPECT_EQ(ReplicaIdHex(db_->Identity().replica_id) + "\n", made);
}

TEST_F(OfflineCommandsTest, AnIdThatIsDamagedIsRefused) {
  Close();
  ASSERT_EQ(MakeId("new"), 0);
  for (const std::string text :
       {"", "00000000000000aa", "0000000000000000\n", "00000000000000ag\n"}) {
    std::ofstream("new/ROCKSYNC.id") << text;
    EXPECT_EQ(MakeId("new"), 2) << text;
    EXPECT_FALSE(Open("new")) << text;
  }
}

// RocksDB's opening to read asserted on such a database without the option.
TEST_F(OfflineCommandsTest, AKilledDatabaseThatTracksItsLogs) {
  Close();
  track_wals_ = true;
  ASSERT_TRUE(Open("db"));
  // A log that is closed, of which the MANIFEST tells, and one that is open.
  ASSERT_TRUE(Ok(db_->Put({}, "more", "v")));
  ASSERT_TRUE(Ok(db_->SyncWAL()));
  ASSERT_TRUE(Ok(db_->Flush({})));
  ASSERT_TRUE(Ok(db_->Put({}, "last", "v")));
  ASSERT_TRUE(Ok(db_->SyncWAL()));
  fs::copy("db", "killed");
  Close();
  fs::copy("killed", "same");
  ASSERT_EQ(Id("killed"), 0) << err_.str();
  EXPECT_EQ(RunRepair({"killed", "repaired", {}}, out_, err_), 0) << err_.str();
  EXPECT_EQ(Diff("killed", "same"), 0) << out_.str() << err_.str();
  EXPECT_EQ(Verify("killed", "same"), 0) << out_.str() << err_.str();
  EXPECT_EQ(Restamp("killed", Right()), 0) << err_.str();
  EXPECT_EQ(Detach("same"), 0) << err_.str();
}

// RocksDB asserts where it replays prepared transactions without allow_2pc.
TEST_F(OfflineCommandsTest, AKilledDatabaseOfTransactionsIsCompared) {
  Close();
  {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::TransactionDB* raw = nullptr;
    ASSERT_TRUE(Ok(rocksdb::TransactionDB::Open(
        options, rocksdb::TransactionDBOptions(), "transactions", &raw)));
    const std::unique_ptr<rocksdb::TransactionDB> db(raw);
    const std::unique_ptr<rocksdb::Transaction> transaction(
        db->BeginTransaction(rocksdb::WriteOptions()));
    ASSERT_TRUE(Ok(transaction->SetName("prepared")));
    ASSERT_TRUE(Ok(transaction->Put("key", "value")));
    ASSERT_TRUE(Ok(transaction->Prepare()));
    ASSERT_TRUE(Ok(transaction->Commit()));
    ASSERT_TRUE(Ok(db->SyncWAL()));
    fs::copy("transactions", "killed");
    fs::copy("transactions", "same");
  }
  EXPECT_EQ(Diff("killed", "same"), 0) << out_.str() << err_.str();
}

TEST_F(OfflineCommandsTest, OneInUseIsSaidToBe) {
  for (const int code :
       {Detach("db"), Restamp("db", Right()), Id("db"), Diff("db", "db2")}) {
    EXPECT_EQ(code, 2);
  }
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("db: is in use, stop its program first"));
  EXPECT_EQ(Restamp("db", Right()), 2);
  EXPECT_THAT(err_.str(), HasSubstr("db: is in use, stop its program first"));
  EXPECT_EQ(Id("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("db: is in use, stop its program first"));
  ASSERT_TRUE(Ok(db_->Put({}, "still", "there")));
}

TEST_F(OfflineCommandsTest, ALockThatCannotBeTakenIsNotCalledHeld) {
  Close();
  fs::remove("db/LOCK");
  fs::create_directory("db/LOCK");
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("db: cannot be locked"));
}

TEST_F(OfflineCommandsTest, ADirectoryThatCannotBeWrittenIsNotCalledInUse) {
  Close();
  const bool root = geteuid() == 0;
  fs::permissions("db", kReadable | kEnterable);
  if (root) {
    for (const auto& file : fs::directory_iterator("db")) {
      fs::permissions(file.path(), kReadable);
    }
    ASSERT_EQ(seteuid(65534), 0);
  } else {
    fs::permissions("db/LOCK", fs::perms::owner_read);
  }
  const auto say = [this](int code) {
    return std::to_string(code) + " " + err_.str();
  };
  std::vector<std::string> said;
  said.push_back(say(Id("db")));
  said.push_back(say(Diff("db", "secret")));
  said.push_back(say(Detach("db")));
  said.push_back(say(Restamp("db", Right())));
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions("db", fs::perms::owner_all);
  for (const std::string& error : said) {
    EXPECT_THAT(error, HasSubstr("2 "));
    EXPECT_THAT(
        error,
        HasSubstr(
            "cannot write db/LOCK, permission denied: run as the user of its "
            "program"));
    EXPECT_THAT(error, Not(HasSubstr("in use")));
  }
}

// "Run as the user of its program" was said there, of no use.
TEST_F(OfflineCommandsTest, OnAReadOnlyFileSystemItIsRead) {
  Close();
  const fs::path db = fs::absolute("db");
  // Of this thread alone, which ends with the mounts.
  std::thread([&] {
    if (!HasOwnMounts() ||
        mount(db.c_str(), db.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount("none", db.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY,
              nullptr) != 0) {
      GTEST_SKIP() << "this process may mount nothing";
    }
    EXPECT_EQ(Id("db"), 0) << err_.str();
    EXPECT_EQ(Detach("db"), 2);
    EXPECT_THAT(err_.str(), HasSubstr("read-only file system"));
    EXPECT_EQ(Restamp("db", Right()), 2);
    EXPECT_THAT(err_.str(), HasSubstr("read-only file system"));
    EXPECT_THAT(err_.str(), Not(HasSubstr("run as the user")));
  }).join();
}

// The lock can be taken, and the directory takes no new file.
TEST_F(OfflineCommandsTest, ADirectoryThatTakesNoFileIsNamed) {
  Close();
  const bool root = geteuid() == 0;
  fs::permissions("db", kReadable | kEnterable);
  for (const auto& file : fs::directory_iterator("db")) {
    fs::permissions(file.path(), kReadable | fs::perms::owner_write |
                                     fs::perms::group_write |
                                     fs::perms::others_write);
  }
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const int detached = Detach("db");
  const std::string of_detach = err_.str();
  const int restamped = Restamp("db", Right());
  const std::string of_restamp = err_.str();
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions("db", fs::perms::owner_all);
  EXPECT_EQ(detached, 2);
  EXPECT_EQ(restamped, 2);
  for (const std::string& error : {of_detach, of_restamp}) {
    EXPECT_THAT(error, HasSubstr("cannot write db/"));
    EXPECT_THAT(error, HasSubstr("run as the user of its program"));
  }
}

// The database has a name there, and RocksDB's Env says that its directory is
// not there: the log was told to be lost.
TEST_F(OfflineCommandsTest, ADirectoryAboveThatMayNotBeEnteredIsNamed) {
  const bool root = geteuid() == 0;
  fs::create_directories("above/below");
  ASSERT_TRUE(Open("above/below/db"));
  ASSERT_TRUE(Ok(db_->Put({}, "k", "v")));
  Close();
  fs::copy_file("secret", "above/below/secret");
  const std::string above = fs::canonical("above");
  fs::current_path("above/below");
  for (const auto& file : fs::recursive_directory_iterator(".")) {
    if (root) {
      ASSERT_EQ(chown(file.path().c_str(), 65534, 65534), 0);
    }
  }
  const std::vector<std::string> before = Files("db");
  fs::permissions(above, root ? fs::perms::owner_all : fs::perms::none);
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  std::vector<std::string> said;
  for (const auto& run : std::vector<std::function<int()>>{
           [this] { return Detach("db"); }, [this] { return Id("db"); },
           [this] { return Restamp("db", Right()); }}) {
    EXPECT_EQ(run(), 2);
    said.push_back(err_.str());
  }
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(above, fs::perms::owner_all);
  for (const std::string& error : said) {
    EXPECT_THAT(error, HasSubstr("cannot see what is in " + above +
                                 "/below/db, as " + above +
                                 " may not be entered: permission denied: "
                                 "let the user of this process enter"));
  }
  EXPECT_EQ(Files("db"), before);
  EXPECT_EQ(Detach("db"), 0) << err_.str();
}

// RocksDB's Env tells of files that are not there, and a log that does not read
// was told to be damaged.
TEST_F(OfflineCommandsTest, WhatMayNotBeReadIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  ASSERT_TRUE(Ok(db_->Put({}, "k", "v")));
  Close();
  for (const auto& file : fs::recursive_directory_iterator(root_.path())) {
    ASSERT_EQ(chown(file.path().c_str(), 65534, 65534), 0);
  }
  std::string log;
  for (const auto& file : fs::directory_iterator("db")) {
    if (file.path().extension() == ".log") log = file.path();
  }
  ASSERT_FALSE(log.empty());
  // The log; the directory's list; anything in it.
  for (const auto& [path, mode, named] :
       std::vector<std::tuple<std::string, fs::perms, std::string>>{
           {log, fs::perms::none, log},
           {"db/ROCKSYNC", fs::perms::none, "db/ROCKSYNC"},
           {"db", fs::perms::owner_exec | fs::perms::owner_write, "db/"},
           {"db", fs::perms::none, "db"}}) {
    const fs::perms usual = fs::status(path).permissions();
    fs::permissions(path, mode);
    ASSERT_EQ(seteuid(65534), 0);
    std::vector<std::string> said;
    for (const auto& run : std::vector<std::function<int()>>{
             [this] { return Detach("db"); }, [this] { return Id("db"); },
             [this] { return Restamp("db", Right()); },
             [this] {
               err_.str("");
               return RunRepair({"db", "copy"}, out_, err_);
             }}) {
      EXPECT_NE(run(), 0);
      said.push_back(err_.str());
    }
    const testing::AssertionResult opened = Open("db");
    EXPECT_FALSE(opened);
    said.push_back(opened.message());
    ASSERT_EQ(seteuid(0), 0);
    fs::permissions(path, usual);
    for (const std::string& error : said) {
      EXPECT_THAT(error, HasSubstr("cannot read " + named));
      EXPECT_THAT(error, HasSubstr("permission denied"));
      EXPECT_THAT(error, HasSubstr("run as the user of its program"));
    }
  }
  EXPECT_EQ(Detach("db"), 0) << err_.str();
}

TEST_F(OfflineCommandsTest, OneDirectoryTwiceIsNoComparison) {
  Close();
  EXPECT_EQ(Diff("db", "db/"), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("both arguments are one directory"));
  EXPECT_EQ(Verify("db", root_ / "db"), kVerifyError);
  EXPECT_THAT(err_.str(), HasSubstr("both arguments are one directory"));
  fs::create_directory_symlink("db", "link");
  EXPECT_EQ(Rescue("db", "link"), kRescueError);
  EXPECT_THAT(err_.str(), HasSubstr("both arguments are one directory"));
}

TEST_F(OfflineCommandsTest, APlainDatabaseHasNoId) {
  MakePlain("plain");
  EXPECT_EQ(Id("plain"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is a plain database, not a replica"));
  EXPECT_THAT(err_.str(), HasSubstr("`rocksync id --make`"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("already")));
  EXPECT_EQ(Restamp("plain", Right()), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is a plain database, not a replica"));
  EXPECT_EQ(Detach("plain"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is a plain database already"));
}

TEST_F(OfflineCommandsTest, ASecretInHexIsToldFromOne) {
  Close();
  Credentials credentials = Right();
  credentials.secret_file = "hex-secret";
  EXPECT_EQ(Restamp("db", credentials), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr("hex-secret has 64 bytes: 32 raw bytes are needed "
                        "(not hex, no newline)"));
}

TEST_F(OfflineCommandsTest, ASecretMayComeOutOfAPipeIfSomebodyWritesIt) {
  Close();
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  std::array<uint8_t, 32> bytes;
  std::thread writer([] {
    std::ofstream pipe("pipe", std::ios::binary);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pipe << std::string(32, '\7');
  });
  EXPECT_TRUE(Ok(ReadClusterSecret("pipe", &bytes)));
  writer.join();
  EXPECT_EQ(bytes[31], 7);
  const rocksdb::Status nobody = ReadClusterSecret("pipe", &bytes);
  EXPECT_TRUE(nobody.IsTimedOut());
  EXPECT_THAT(nobody.ToString(), HasSubstr("pipe is a pipe, and nothing came"));
}

// As of a service whose files root made for itself.
TEST_F(OfflineCommandsTest, AFileThatTheUserMayNotReadIsNamedWithTheRemedy) {
  Close();
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  const std::string secret = fs::absolute("secret");
  fs::permissions(secret, fs::perms::owner_read);
  ASSERT_EQ(seteuid(65534), 0);
  std::array<uint8_t, 32> bytes;
  const rocksdb::Status as_secret = ReadClusterSecret(secret, &bytes);
  Credentials credentials;
  credentials.secret_file = fs::absolute("other-secret");
  credentials.tls.ca_file = credentials.tls.certificate_file = secret;
  credentials.tls.private_key_file = secret;
  AdminTarget target;
  const rocksdb::Status as_pem = MakeTarget(credentials, &target);
  ASSERT_EQ(seteuid(0), 0);
  for (const rocksdb::Status& status : {as_secret, as_pem}) {
    EXPECT_TRUE(status.IsIOError()) << status.ToString();
    for (const char* part : {"cannot read ", "permission denied",
                             "let user nobody ", " && chmod "}) {
      EXPECT_THAT(status.ToString(), HasSubstr(part));
    }
    EXPECT_THAT(status.ToString(), HasSubstr(secret));
  }
}

// It is not said to hold no files.
TEST_F(OfflineCommandsTest, ATrialDirectoryThatTheUserMayNotEnterIsNamed) {
  Close();
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  Credentials credentials;
  credentials.trial_directory = fs::absolute("trial");
  fs::create_directory("trial");
  fs::permissions("trial", fs::perms::owner_all);
  ASSERT_EQ(seteuid(65534), 0);
  AdminTarget target;
  const rocksdb::Status status = MakeTarget(credentials, &target);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(status.IsIOError()) << status.ToString();
  EXPECT_THAT(status.ToString(),
              HasSubstr("trial-ca.pem: permission denied: let user nobody "
                        "enter " +
                        credentials.trial_directory));
}

TEST_F(OfflineCommandsTest, ASecretWithoutAnEndIsRefused) {
  Close();
  Credentials credentials = Right();
  credentials.secret_file = "/dev/zero";
  EXPECT_EQ(Restamp("db", credentials), 2);
  EXPECT_THAT(err_.str(), HasSubstr("/dev/zero has more than 1024 bytes"));
}

// Also one of which all files are there, and which nobody has opened yet: it
// has the identity of its source until then.
TEST_F(OfflineCommandsTest, AnUnfinishedCloneIsCalledOne) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  rocksdb::Checkpoint* raw = nullptr;
  ASSERT_TRUE(Ok(rocksdb::Checkpoint::Create(db_.get(), &raw)));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  ASSERT_TRUE(Ok(checkpoint->CreateCheckpoint("copied")));
  ASSERT_TRUE(Ok(WriteCloneRecord(env, "copied", {.replica_id = 5})));
  Close();
  fs::create_directory("begun");
  ASSERT_TRUE(Ok(MarkUnfinished(env, "begun")));
  for (const std::string clone : {"begun", "copied"}) {
    const auto expect_called_so = [&](int code) {
      EXPECT_EQ(code, 2);
      EXPECT_THAT(err_.str(), HasSubstr(clone + " holds an unfinished clone"));
      Clear();
    };
    const std::vector<std::string> before = Files(clone);
    Clear();
    std::ostringstream out;
    expect_called_so(RunId({.directory = clone}, out, err_));
    expect_called_so(Diff(clone, "db"));
    expect_called_so(Detach(clone));
    expect_called_so(Restamp(clone, Right()));
    VerifyToolOptions verify;
    verify.left = clone;
    verify.right = "db";
    verify.credentials = Right();
    expect_called_so(RunVerify(verify, out, err_));
    const rocksdb::Status detached = ReplicatedDB::Detach(
        rocksdb::DBOptions(), clone, {{rocksdb::kDefaultColumnFamilyName, {}}});
    EXPECT_TRUE(detached.IsAborted()) << detached.ToString();
    EXPECT_EQ(Files(clone), before);
  }
}

TEST_F(OfflineCommandsTest, PrivateFilesThatAllMayReadAreNamed) {
  Credentials credentials = Right();
  credentials.tls.private_key_file = "key";
  std::ofstream("key") << "secret";
  fs::permissions("key", kReadable);
  fs::permissions(credentials.secret_file, fs::perms::owner_read);
  Clear();
  WarnOfOpenFiles(credentials, err_);
  EXPECT_THAT(err_.str(), HasSubstr("may read key"));
  EXPECT_THAT(err_.str(), Not(HasSubstr(credentials.secret_file)));
}

TEST_F(OfflineCommandsTest, WhatToWriteForALogElsewhereIsPrinted) {
  Close();
  rocksdb::Options options;
  options.create_if_missing = true;
  options.wal_dir = root_ / "log";
  rocksdb::DB* raw = nullptr;
  ASSERT_TRUE(Ok(OpenPlain(options, "far", &raw)));
  ASSERT_TRUE(Ok(raw->Put({}, "k", "v")));
  delete raw;
  fs::copy("far", "b2");
  EXPECT_EQ(Diff("b2", "db"), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir b2=b2"));
  Clear();
  DiffOptions diff;
  diff.left = "b2";
  diff.right = "db";
  diff.wal_dirs = {"b3=b3"};
  EXPECT_EQ(RunDiff(diff, out_, err_), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir b3=b3 names no directory"));
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir b2=LOGDIR"));
  Clear();
  diff.wal_dirs = {"b2="};
  EXPECT_EQ(RunDiff(diff, out_, err_), kDiffError);
  EXPECT_THAT(err_.str(), HasSubstr("--wal-dir b2=: the name of the log's "
                                    "directory is empty"));
}

}  // namespace
}  // namespace rocksync

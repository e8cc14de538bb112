// A file that the last close left is not there, or shorter: RocksDB would open
// the database all the same, without the writes that it held, and the index
// would still have them.

#include "replication/store/open/files_left.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replication/store/format/current_manifest.h"
#include "replication/store/format/marker.h"
#include "replication/store/offline/own_options.h"
#include "rocksdb/env.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/flip_bit.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class FilesLeftTest : public StoreTest {
 protected:
  // The pairs are in one log, the end of the close in another one.
  void MakeOfflineReplica() {
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(db_->Delete({}, "deleted"));
    for (int i = 0; i < 100; ++i) {
      ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "value"));
    }
    original_ = db_->Identity().replica_id;
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    logs_.clear();
    for (const auto& file : fs::directory_iterator(Dir())) {
      if (file.path().extension() == ".log") logs_.push_back(file.path());
    }
    std::sort(logs_.begin(), logs_.end());
    ASSERT_EQ(logs_.size(), 2u);
    whole_ = logs_.front();
    fs::rename(Dir(), Dir("whole"));
    Renew();
  }
  void Renew() {
    db_.reset();
    fs::remove_all(Dir());
    fs::copy(Dir("whole"), Dir(), fs::copy_options::recursive);
  }

  static void Damage(const fs::path& log) {
    FlipABit(log, static_cast<std::streamoff>(fs::file_size(log) / 2));
  }

  rocksdb::Status CheckOffline() {
    OwnOptions own;
    return LoadOwnOptions(rocksdb::Env::Default(), Dir(), "", &own);
  }

  void ExpectReported(const std::string& part) {
    for (const rocksdb::Status& status : {Open(), CheckOffline()}) {
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.ToString().find(part), std::string::npos)
          << status.ToString();
    }
    EXPECT_EQ(db_, nullptr);
  }

  void ExpectTheManifestIsNamedWhereverItIsCut() {
    std::string name = CurrentManifest(rocksdb::Env::Default(), Dir());
    name.pop_back();  // the line feed
    const fs::path manifest = fs::path(Dir()) / name;
    const uintmax_t size = fs::file_size(manifest);
    for (uintmax_t left = size - 1; left > size / 2; --left) {
      Renew();
      fs::resize_file(manifest, left);
      ExpectReported("MANIFEST of " + Dir());
      for (const auto& file : fs::directory_iterator(Dir("whole"))) {
        EXPECT_TRUE(fs::exists(fs::path(Dir()) / file.path().filename()))
            << file.path();
      }
    }
  }

  std::vector<fs::path> logs_;
  fs::path whole_;  // the log that has the pairs
  uint64_t original_ = 0;
};

// An option of newer versions that goes on with the last opening's.
template <typename Options>
void ReuseManifest(Options* options) {
  if constexpr (requires { options->reuse_manifest_on_open; }) {
    options->reuse_manifest_on_open = true;
  }
}

// So that an opening may fail after RocksDB has taken the log away.
TEST_F(FilesLeftTest, EachOpeningBeginsAManifest) {
  ReuseManifest(&options_);
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const std::string before = CurrentManifest(rocksdb::Env::Default(), Dir());
  ASSERT_ROCKS_OK(Open());
  EXPECT_NE(CurrentManifest(rocksdb::Env::Default(), Dir()), before);
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(FilesLeftTest, OneOfSeveralLogsIsLost) {
  MakeOfflineReplica();
  const std::string name = whole_.filename();
  fs::remove(whole_);
  ExpectReported("has lost a part of its log: " + whole_.string() +
                 " is not there");
  // The file is brought back.
  fs::copy(fs::path(Dir("whole")) / name, whole_);
  ASSERT_ROCKS_OK(CheckOffline());
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key99"), "value");
  EXPECT_EQ(db_->Identity().replica_id, original_);
}

TEST_F(FilesLeftTest, OneOfSeveralLogsIsShorter) {
  MakeOfflineReplica();
  const uintmax_t size = fs::file_size(whole_);
  for (const uintmax_t left : {uintmax_t{0}, size / 2, size - 1}) {
    Renew();
    fs::resize_file(whole_, left);
    ExpectReported(whole_.string() + " has " + std::to_string(left) +
                   " bytes, and was closed with " + std::to_string(size));
    // The remedy is one, whatever is left.
    replication_.open_copy_as_new_replica = true;
    ASSERT_ROCKS_OK(Open());
    EXPECT_NE(db_->Identity().replica_id, original_);
    replication_.open_copy_as_new_replica = false;
  }
}

// RocksDB would end the replay there, and remove the file.
TEST_F(FilesLeftTest, ALogIsDamaged) {
  MakeOfflineReplica();
  for (const fs::path& log : logs_) {
    Renew();
    Damage(log);
    ExpectReported("has lost a part of its log: " + log.string() +
                   " is damaged: its bytes have changed");
    ExpectReported("has lost a part of its log");
    replication_.open_copy_as_new_replica = true;
    ASSERT_ROCKS_OK(Open());
    EXPECT_NE(db_->Identity().replica_id, original_);
    replication_.open_copy_as_new_replica = false;
  }
}

TEST_F(FilesLeftTest, TheLastLogIsShorter) {
  MakeOfflineReplica();
  const fs::path last = logs_.back();
  for (const uintmax_t left : {uintmax_t{0}, fs::file_size(last) - 1}) {
    Renew();
    fs::resize_file(last, left);
    ExpectReported("has lost a part of its log: " + last.string());
    // It is brought back.
    fs::copy_file(fs::path(Dir("whole")) / last.filename(), last,
                  fs::copy_options::overwrite_existing);
    ASSERT_ROCKS_OK(Open());
    EXPECT_EQ(db_->Identity().replica_id, original_);
    EXPECT_EQ(Get("key99"), "value");
  }
}

// After a kill no log is listed. RocksDB finds the index's tables to have more
// than the log up to there.
TEST_F(FilesLeftTest, ADamagedLogThatIsNotListedIsNamed) {
  MakeOfflineReplica();
  Damage(whole_);
  Marker marker;
  ASSERT_ROCKS_OK(ReadMarker(rocksdb::Env::Default(), Dir(), &marker));
  marker.files.resize(1);
  ASSERT_ROCKS_OK(WriteMarker(rocksdb::Env::Default(), Dir(), marker));
  const rocksdb::Status status = Open();
  EXPECT_TRUE(status.IsCorruption());
  for (const char* part :
       {"the log of ", "db is damaged (*.log)", "`rocksync rescue`"}) {
    EXPECT_NE(status.ToString().find(part), std::string::npos)
        << status.ToString();
  }
}

TEST_F(FilesLeftTest, TheRestIsANewReplicaWhoseIndexIsCompared) {
  MakeOfflineReplica();
  fs::remove(whole_);
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(Open());
  EXPECT_NE(db_->Identity().replica_id, original_);
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Get("key99"), "-");
  // What it lost it does not claim to have.
  CloseAndCheck();
}

// Copies a directory before and after each file in it gets its name.
class CopyingEnv final : public rocksdb::EnvWrapper {
 public:
  explicit CopyingEnv(std::function<void()> copy)
      : EnvWrapper(rocksdb::Env::Default()), copy_(std::move(copy)) {}
  const char* Name() const override { return "CopyingEnv"; }
  rocksdb::Status RenameFile(const std::string& from,
                             const std::string& to) override {
    copy_();
    const rocksdb::Status status = target()->RenameFile(from, to);
    copy_();
    return status;
  }

 private:
  const std::function<void()> copy_;
};

// A kill in an opening leaves a log, and a MANIFEST, that are not yet in use.
// It is no newer state.
TEST_F(FilesLeftTest, AKillInAnOpeningLosesNothing) {
  MakeOfflineReplica();
  int copies = 0;
  CopyingEnv env(
      [&] { CopyAsKilled("db", "killed" + std::to_string(copies++)); });
  options_.env = &env;
  ASSERT_ROCKS_OK(Open());
  db_.reset();
  options_.env = rocksdb::Env::Default();
  ASSERT_GT(copies, 6);
  for (int i = 0; i < copies; ++i) {
    SCOPED_TRACE(i);
    const std::string killed = "killed" + std::to_string(i);
    OwnOptions own;
    EXPECT_ROCKS_OK(
        LoadOwnOptions(rocksdb::Env::Default(), Dir(killed), "", &own));
    ASSERT_ROCKS_OK(Open(killed));
    EXPECT_EQ(db_->Identity().replica_id, original_);
    EXPECT_EQ(Get("key99"), "value");
  }
}

// The delete was in the lost log, what it covers is in a table, and the index,
// which a close writes to tables, says that it was deleted.
class LostDeleteTest : public FilesLeftTest {
 protected:
  void LoseADelete() {
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(Put("deleted", "old"));
    ASSERT_ROCKS_OK(Put("changed", "old"));
    ASSERT_ROCKS_OK(Put("kept", "value"));
    ASSERT_ROCKS_OK(db_->Flush({}));
    ASSERT_ROCKS_OK(db_->Delete({}, "deleted"));
    ASSERT_ROCKS_OK(Put("changed", "new"));
    original_ = db_->Identity().replica_id;
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    for (const auto& file : fs::directory_iterator(Dir())) {
      if (file.path().extension() == ".log") logs_.push_back(file.path());
    }
    std::sort(logs_.begin(), logs_.end());
    ASSERT_GE(logs_.size(), 2u);
    fs::remove(logs_.front());
    replication_.open_copy_as_new_replica = true;
  }
  void ExpectMadeAgain(const std::string& name = "db") {
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    EXPECT_EQ(Get("kept"), "value");
    EXPECT_EQ(Get("deleted"), "-");
    Total();  // counts them
    // The value that replaced it is lost; peers have it.
    EXPECT_EQ(db_->GetIndexStats().quarantined_now, 1u);
    EXPECT_EQ(db_->GetTombstoneGcStats().tombstones, 1u);
    CloseAndCheck(nullptr, name);
  }
};

TEST_F(LostDeleteTest, IsMadeAgain) {
  LoseADelete();
  ASSERT_ROCKS_OK(Open());
  ExpectMadeAgain();
}

// A kill once RocksDB has opened what is left, and removed the logs.
TEST_F(LostDeleteTest, IsMadeAgainAfterAnInterruptedOpening) {
  LoseADelete();
  ASSERT_ROCKS_OK(NoteSalvage(rocksdb::Env::Default(), Dir(), Loss::kLog));
  Plain("db", [](rocksdb::DB*) {});
  replication_.open_copy_as_new_replica = false;
  ExpectReported("is what was left after a loss of files");
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(Open());
  ExpectMadeAgain();
}

// The marker, CURRENT and OPTIONS are renamed; what is written in between is in
// one copy or the other.
TEST_F(LostDeleteTest, IsMadeAgainAfterAKillInTheOpening) {
  LoseADelete();
  int copies = 0;
  CopyingEnv env(
      [&] { CopyAsKilled("db", "killed" + std::to_string(copies++)); });
  options_.env = &env;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  options_.env = rocksdb::Env::Default();
  ASSERT_GT(copies, 6);
  for (int i = 0; i < copies; ++i) {
    SCOPED_TRACE(i);
    ASSERT_ROCKS_OK(Open("killed" + std::to_string(i)));
    EXPECT_NE(db_->Identity().replica_id, original_);
    ExpectMadeAgain("killed" + std::to_string(i));
  }
}

// Whoever opens the database reads the log, and removes it.
TEST_F(FilesLeftTest, AfterAForeignOpeningTheListSaysNothing) {
  MakeOfflineReplica();
  Plain("db", [](rocksdb::DB*) {});
  EXPECT_FALSE(fs::exists(whole_));
  ASSERT_ROCKS_OK(CheckOffline());
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key99"), "value");
}

TEST_F(FilesLeftTest, WhatDoesNotComeAfterACleanCloseIsNotLost) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  // The log that was there at the opening goes, since all of it is in tables.
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(Put("other", "value"));
  CopyAsKilled("db", "image");
  ASSERT_ROCKS_OK(Open("image"));
  EXPECT_EQ(Get("other"), "value");
}

// It may end between two records, at each of which RocksDB finds a state.
TEST_F(FilesLeftTest, AManifestIsShorter) {
  MakeOfflineReplica();
  ExpectTheManifestIsNamedWhereverItIsCut();
}

TEST_F(FilesLeftTest, AManifestIsCutBackToATableThatIsGone) {
  ASSERT_ROCKS_OK(Open());
  for (const char* key : {"a", "b"}) {
    ASSERT_ROCKS_OK(Put(key, "value"));
    ASSERT_ROCKS_OK(db_->Flush({}));
  }
  ASSERT_ROCKS_OK(db_->CompactRange({}, nullptr, nullptr));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("whole"));
  Renew();
  ExpectTheManifestIsNamedWhereverItIsCut();
}

// Counts how often a log is opened to be read.
class CountingEnv final : public rocksdb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(rocksdb::Env::Default()) {}
  const char* Name() const override { return "CountingEnv"; }
  rocksdb::Status NewSequentialFile(
      const std::string& name, std::unique_ptr<rocksdb::SequentialFile>* file,
      const rocksdb::EnvOptions& options) override {
    if (name.ends_with(".log")) ++logs_read;
    return target()->NewSequentialFile(name, file, options);
  }
  std::atomic<int> logs_read = 0;
};

// The log is read before RocksDB replays it, which removes it: of a clean close
// to be compared with its hash, and for the records of the index; after a kill
// for these, and for what is behind a damaged place.
TEST_F(FilesLeftTest, AnOpeningReadsTheLogTwiceMore) {
  MakeOfflineReplica();
  CountingEnv env;
  options_.env = &env;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(env.logs_read, 3 * 2);  // two logs
  // As after a kill.
  ASSERT_ROCKS_OK(Put("more", "value"));
  db_->FlushWAL(true).PermitUncheckedError();
  fs::remove_all(Dir("whole"));
  CopyAsKilled("db", "whole");
  Renew();
  env.logs_read = 0;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("more"), "value");
  EXPECT_EQ(env.logs_read, 3);
  // What is refused is not replayed.
  ASSERT_ROCKS_OK(db_->Close());
  replication_.cluster_name = "other";
  env.logs_read = 0;
  EXPECT_TRUE(Open().IsInvalidArgument());
  EXPECT_EQ(env.logs_read, 2);
  db_.reset();
  options_.env = rocksdb::Env::Default();
}

}  // namespace
}  // namespace rocksync

// Directories for the log and the tables within the directory of a database:
// its own, or another one's.

#include <filesystem>
#include <memory>
#include <string>

#include "tests/integration/store/shared_paths_fixture.h"
#include "tests/support/mentions.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

TEST_F(SharedPathsTest, ACopyDoesNotTakeTheLogWithinItsOriginal) {
  options_.wal_dir = Dir("db/wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  fs::copy(Dir(), Dir("other"), fs::copy_options::recursive);
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("copy", "db/wal");
  EXPECT_TRUE(ReplicatedDB::Detach(options_, Dir("copy")).IsInvalidArgument());
  // With its own copy of it.
  options_.wal_dir = Dir("copy/wal");
  std::unique_ptr<ReplicatedDB> copy;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  std::string value;
  EXPECT_ROCKS_OK(copy->Get({}, "key", &value));
  copy.reset();
  // And a plain one, too, whose original nobody has opened but RocksDB.
  options_.wal_dir = Dir("other/wal");
  ASSERT_ROCKS_OK(ReplicatedDB::Detach(options_, Dir("other")));
  fs::remove(Dir("other/wal/ROCKSYNC.owner"));
  fs::remove(Dir("other/ROCKSYNC.paths"));
  fs::copy(Dir("other"), Dir("plain"), fs::copy_options::recursive);
  ExpectRefused("plain", "other/wal");
  options_.wal_dir = Dir("db/wal");
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, AnEmptyDirectoryWithinADatabaseIsItsOwn) {
  ASSERT_ROCKS_OK(Open("other"));
  ASSERT_ROCKS_OK(db_->Close());
  options_.db_paths = {{Dir("db/tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  ExpectRefused("other", "db/tables");
}

// It was there before, of a database that is elsewhere.
TEST_F(SharedPathsTest, TablesDoNotGoToThePlaceOfAnotherLog) {
  rocksdb::Options plain;
  plain.create_if_missing = true;
  plain.wal_dir = Dir("db/log");
  fs::create_directory(Dir());
  std::unique_ptr<rocksdb::DB> other;
  ASSERT_ROCKS_OK(OpenPlain(plain, Dir("other"), &other));
  ASSERT_ROCKS_OK(other->Put({}, "key", "value"));
  other.reset();
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  options_.db_paths = {{Dir("db/log"), 1 << 30}};
  EXPECT_TRUE(Mentions(Open(), "holds a log"));
  options_.db_paths.clear();
  fs::rename(Dir("db/log"), Dir("log"));
  options_.wal_dir = Dir("log");
  ASSERT_ROCKS_OK(Open("other"));
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ADatabaseWithItsLogWithinMayMove) {
  options_.wal_dir = Dir("db/wal");
  options_.db_paths = {{Dir("db/tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("flushed", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("moved"));
  options_.wal_dir = Dir("moved/wal");
  options_.db_paths = {{Dir("moved/tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open("moved"));
  EXPECT_EQ(Get("key"), "value");
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  // So may one that is moved to another file system.
  fs::copy(Dir("moved"), Dir("again"), fs::copy_options::recursive);
  fs::remove_all(Dir("moved"));
  options_.wal_dir = Dir("again/wal");
  options_.db_paths = {{Dir("again/tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open("again"));
  EXPECT_EQ(Get("key"), "value");
  EXPECT_EQ(Get("flushed"), "value");
}

// RocksDB removes old logs from there.
TEST_F(SharedPathsTest, TheArchiveOfALogIsItsDatabases) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  const rocksdb::Options own = options_;
  for (const char* archive : {"wal/archive", "plain/archive"}) {
    options_.wal_dir = Dir(archive);
    if (archive == std::string("plain/archive")) {
      rocksdb::Options plain;
      plain.create_if_missing = true;
      std::unique_ptr<rocksdb::DB> db;
      ASSERT_ROCKS_OK(OpenPlain(plain, Dir("plain"), &db));
      fs::create_directory(Dir(archive));
    }
    ExpectRefused("new", archive);
  }
  // Nor is a log made about another one's.
  fs::create_directory(Dir("late"));
  options_.wal_dir = Dir("late/archive");
  std::unique_ptr<ReplicatedDB> other;
  ASSERT_ROCKS_OK(OpenOther("other", &other));
  options_.wal_dir = Dir("late");
  ExpectRefused("new", "late/archive");
  options_.wal_dir.clear();
  ExpectRefused("late", "late/archive");
}

TEST_F(SharedPathsTest, WhatIsLeftOfADatabaseIsNotBegunAnew) {
  options_.db_paths = {{Dir("db/tables"), 1 << 30}};
  MakeOfflineReplica();
  const ptrdiff_t tables = Files("db/tables", ".sst");
  // A backup of which a part was restored.
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (!file.is_directory() && file.path().filename() != "ROCKSYNC.paths") {
      fs::remove(file.path());
    }
  }
  ExpectRefused("db", "db/tables");
  fs::remove(Dir("db/ROCKSYNC.paths"));
  ExpectRefused("db", "db/tables");
  fs::remove(Dir("db/tables/ROCKSYNC.owner"));
  ExpectRefused("db", "db/tables");
  EXPECT_EQ(Files("db/tables", ".sst"), tables);
}

}  // namespace
}  // namespace rocksync

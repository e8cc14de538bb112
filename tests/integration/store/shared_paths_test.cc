// Paths outside of a database's directory that another database uses: RocksDB
// would replay the other one's log, and delete its files.

#include "replication/store/open/shared_paths.h"

#include <filesystem>
#include <memory>
#include <string>

#include "tests/integration/store/shared_paths_fixture.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

TEST_F(SharedPathsTest, ACopyDoesNotTakeTheLogOfItsOriginal) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  MakeCheckpoint("copy");
  rocksdb::WriteOptions synced;
  synced.sync = true;
  ASSERT_ROCKS_OK(db_->Put(synced, "later", "value"));
  const ptrdiff_t logs = Files("wal", ".log");
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("copy", "wal");
  EXPECT_EQ(Files("wal", ".log"), logs);

  options_.wal_dir = Dir("wal of the copy");
  std::unique_ptr<ReplicatedDB> copy;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  std::string value;
  EXPECT_ROCKS_OK(copy->Get({}, "key", &value));
  EXPECT_TRUE(copy->Get({}, "later", &value).IsNotFound());
  copy.reset();
  // It has opened there now, and is nobody's copy any more.
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  copy.reset();

  replication_.open_copy_as_new_replica = false;
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("later"), "value");
}

TEST_F(SharedPathsTest, ByAnotherNameItIsNoCopy) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::create_directory_symlink(Dir(), Dir("link"));
  ASSERT_ROCKS_OK(Open("link"));
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ACopyDoesNotTakeTheTablesOfItsOriginal) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  MakeOfflineReplica();
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  const ptrdiff_t tables = Files("tables", ".sst");
  ExpectRefused("copy", "tables");
  EXPECT_EQ(Files("tables", ".sst"), tables);
  // Nor one that is new, and whose family has the path.
  const rocksdb::Options options = options_;
  options_.cf_paths = options_.db_paths;
  options_.db_paths.clear();
  ExpectRefused("new", "tables");
  EXPECT_EQ(Files("tables", ".sst"), tables);
  options_ = options;
  // Nor once the original was moved: it may go on there.
  fs::rename(Dir(), Dir("away"));
  ExpectRefused("copy", "tables");
  ASSERT_ROCKS_OK(Open("away"));
  EXPECT_EQ(Get("key"), "value");
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  // If the copy is what goes on, one says so as the error tells.
  fs::remove_all(Dir("away"));
  fs::remove(Dir("tables") + "/ROCKSYNC.owner");
  ASSERT_ROCKS_OK(Open("copy"));
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, AMovedOriginalKeepsItsLog) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  MakeCheckpoint("checkpoint");
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("moved"));
  replication_.open_copy_as_new_replica = true;
  for (const char* name : {"copy", "checkpoint"}) ExpectRefused(name, "wal");
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(Open("moved"));
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ACopyMayUseItsOwnCopyOfTheLogAndTheTables) {
  fs::create_directories(Dir("x"));
  options_.wal_dir = Dir("x/wal");
  options_.db_paths = {{Dir("x/tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open("x/db"));
  ASSERT_ROCKS_OK(Put("flushed", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir("x"), Dir("y"), fs::copy_options::recursive);
  // The original goes on.
  ASSERT_ROCKS_OK(Open("x/db"));
  options_.wal_dir = Dir("y/wal");
  options_.db_paths = {{Dir("y/tables"), 1 << 30}};
  replication_.open_copy_as_new_replica = true;
  std::unique_ptr<ReplicatedDB> copy;
  ASSERT_ROCKS_OK(OpenOther("y/db", &copy));
  std::string value;
  EXPECT_ROCKS_OK(copy->Get({}, "flushed", &value));
  EXPECT_ROCKS_OK(copy->Get({}, "key", &value));
}

// A path within the directory, by its name, which leads out of it.
TEST_F(SharedPathsTest, ALinkThatWasCopiedLeadsToTheOriginals) {
  fs::create_directories(Dir());
  fs::create_directories(Dir("wal"));
  fs::create_directory_symlink(Dir("wal"), Dir() + "/wal");
  options_.wal_dir = Dir() + "/wal";
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir(), Dir("copy"),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  options_.wal_dir = Dir("copy") + "/wal";
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("copy", "copy/wal");
  options_.wal_dir = Dir() + "/wal";
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, AnAdoptedDatabaseDoesNotTakeAnothersLog) {
  Plain("plain",
        [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "mine", "value")); });
  // Of a replica.
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 100; ++i) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "value"));
  }
  replication_.adopt_existing = true;
  ExpectRefused("plain", "wal");
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ExpectRefused("plain", "wal");
  // Of a plain one: nobody says whose it is.
  fs::remove(Dir("wal") + "/ROCKSYNC.owner");
  ExpectRefused("plain", "wal");
  // Nor would it find its own in an empty directory.
  options_.wal_dir = Dir("empty");
  ExpectRefused("plain", "empty");
  options_.wal_dir.clear();
  ASSERT_ROCKS_OK(Open("plain"));
  EXPECT_EQ(Get("mine"), "value");
  EXPECT_EQ(Get("key1"), "-");
}

TEST_F(SharedPathsTest, AnAdoptedDatabaseKeepsItsOwnLogElsewhere) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.wal_dir = Dir("wal");
  rocksdb::DB* raw = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(options, Dir("plain"), &raw));
  ASSERT_ROCKS_OK(raw->Put({}, "mine", "value"));
  delete raw;
  replication_.adopt_existing = true;
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open("plain"));
  EXPECT_EQ(Get("mine"), "value");
}

TEST_F(SharedPathsTest, AReplicaDoesNotTakeAnothersFiles) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  MakeOfflineReplica();
  options_.db_paths.clear();
  ASSERT_ROCKS_OK(Open("other"));
  ASSERT_ROCKS_OK(Put("other", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  Plain("plain", [](rocksdb::DB*) {});
  const ptrdiff_t tables = Files("tables", ".sst");
  for (const bool owned : {true, false}) {
    if (!owned) fs::remove(Dir("tables") + "/ROCKSYNC.owner");
    for (const char* name : {"other", "plain", "new"}) {
      options_.db_paths = {{Dir(name), 1 << 30}, {Dir("tables"), 1 << 30}};
      ExpectRefused(name, "tables");
      options_.db_paths.clear();
      options_.cf_paths = {{Dir("tables"), 1 << 30}};
      ExpectRefused(name, "tables");
      options_.cf_paths.clear();
    }
    EXPECT_EQ(Files("tables", ".sst"), tables);
  }
  // Nor a directory of another database itself, whether its log is empty or
  // not.
  options_.wal_dir = Dir("plain");
  ExpectRefused("other", "plain");
  options_.wal_dir.clear();
  options_.db_paths = {{Dir("other"), 1 << 30}, {Dir("plain"), 1 << 30}};
  Plain("plain", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "k", "v"));
    ASSERT_ROCKS_OK(db->Flush({}));
  });
  ExpectRefused("other", "plain");
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key"), "value");
}

// What its owner will write there would be taken for the other one's.
TEST_F(SharedPathsTest, AnEmptyDirectoryBelongsToItsOwner) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_EQ(Files("tables", ".sst"), 0);
  options_.wal_dir.clear();
  ExpectRefused("new", "tables");
  // Nor one of the other kind, nor the database's own.
  for (const char* path : {"wal", "db"}) {
    options_.db_paths = {{Dir(path), 1 << 30}};
    ExpectRefused("new", path);
  }
  options_.db_paths.clear();
  options_.wal_dir = Dir("tables");
  ExpectRefused("new", "tables");
  // Nor is it for a database.
  options_.wal_dir.clear();
  ExpectRefused("tables", "db");
  options_.wal_dir = Dir("tables");
  // Nor while the owner is away: renamed, or not mounted.
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("away"));
  for (const auto& file : fs::directory_iterator(Dir("tables"))) {
    if (file.path().extension() == ".sst") fs::remove(file);
  }
  ExpectRefused("new", "tables");
  fs::remove(Dir("tables/ROCKSYNC.owner"));
  ASSERT_ROCKS_OK(Open("new"));
}

// A mount that is missing, a link that was turned, another database that was
// moved to the place.
TEST_F(SharedPathsTest, WhatComesToTheOwnersPlaceIsNotTheOwner) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  options_.wal_dir = Dir("wal");
  fs::create_directory(Dir("one"));
  fs::create_directory_symlink("one", Dir("link"));
  ASSERT_ROCKS_OK(Open("link"));
  ASSERT_ROCKS_OK(Put("flushed", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(Put("later", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const ptrdiff_t logs = Files("wal", ".log");
  const ptrdiff_t tables = Files("tables", ".sst");
  const rocksdb::Options options = options_;
  // A replica with a token of its own.
  options_.wal_dir = Dir("wal of two");
  options_.db_paths.clear();
  ASSERT_ROCKS_OK(Open("two"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  options_ = options;
  fs::rename(Dir("one"), Dir("away"));
  replication_.open_copy_as_new_replica = true;
  for (const char* name : {"two", "new"}) {
    SCOPED_TRACE(name);
    if (fs::exists(Dir(name))) fs::rename(Dir(name), Dir("one"));
    for (const char* opened : {"one", "link"}) {
      for (const char* path : {"wal", "tables"}) {
        options_ = options;
        if (path == std::string("tables")) {
          options_.wal_dir =
              name == std::string("two") ? Dir("wal of two") : "";
        }
        if (path == std::string("wal")) options_.db_paths.clear();
        fs::create_directory(Dir("one"));
        ExpectRefused(opened, path);
      }
    }
    fs::remove_all(Dir("one"));
  }
  replication_.open_copy_as_new_replica = false;
  options_ = options;
  EXPECT_EQ(Files("wal", ".log"), logs);
  EXPECT_EQ(Files("tables", ".sst"), tables);
  fs::rename(Dir("away"), Dir("one"));
  ASSERT_ROCKS_OK(Open("link"));
  EXPECT_EQ(Get("flushed"), "value");
  EXPECT_EQ(Get("later"), "value");
}

TEST_F(SharedPathsTest, AnothersDirectoryMayBeWithin) {
  options_.db_paths = {{Dir("other/tables"), 1 << 30}};
  fs::create_directory(Dir("other"));
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  options_.db_paths.clear();
  ASSERT_ROCKS_OK(Open("other"));
  rocksdb::ColumnFamilyOptions family;
  family.cf_paths = {{Dir("other/tables"), 1 << 30}};
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  EXPECT_TRUE(
      db_->CreateColumnFamily(family, "family", &handle).IsInvalidArgument());
  // One of its own is fine.
  family.cf_paths = {{Dir("other/own"), 1 << 30}};
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(family, "family", &handle));
  ASSERT_ROCKS_OK(db_->DropColumnFamily(handle));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  options_.db_paths = {{Dir("other"), 1 << 30}, {Dir("other/tables"), 1 << 30}};
  ExpectRefused("other", "other/tables");
  options_.db_paths = {{Dir("other/tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ALinkThatWasTurnedToACheckpointLeavesTheLog) {
  options_.wal_dir = Dir("wal");
  fs::create_directory(Dir("one"));
  fs::create_directory_symlink("one", Dir("link"));
  ASSERT_ROCKS_OK(Open("link"));
  MakeCheckpoint("two");
  ASSERT_ROCKS_OK(Put("later", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::remove(Dir("link"));
  fs::create_directory_symlink("two", Dir("link"));
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("link", "wal");
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(Open("one"));
  EXPECT_EQ(Get("later"), "value");
}

TEST_F(SharedPathsTest, ANewFamilyDoesNotTakeAnothersTables) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  // Its own paths may be shared by its families.
  rocksdb::ColumnFamilyOptions options;
  options.cf_paths = options_.db_paths;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(options, "own", &handle));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
  options_.db_paths.clear();
  std::unique_ptr<ReplicatedDB> other;
  ASSERT_ROCKS_OK(OpenOther("other", &other));
  const rocksdb::Status status =
      other->CreateColumnFamily(options, "others", &handle);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
}

TEST_F(SharedPathsTest, CommandsOnACopyDoNotUseUpTheLogOfItsOriginal) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  const ptrdiff_t logs = Files("wal", ".log");
  RestampResult result;
  for (const rocksdb::Status& status :
       {ReplicatedDB::Detach(options_, Dir("copy")),
        ReplicatedDB::Restamp(options_, replication_, Dir("copy"), {},
                              &result)}) {
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find(Dir("wal")), std::string::npos);
  }
  EXPECT_EQ(Files("wal", ".log"), logs);
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_ROCKS_OK(ReplicatedDB::Detach(options_, Dir()));
  // It is the plain database's still.
  ExpectRefused("new", "wal");
}

}  // namespace
}  // namespace rocksync

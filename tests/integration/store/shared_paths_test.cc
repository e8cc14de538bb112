// Paths outside of a database's directory that another database uses: RocksDB
// would replay the other one's log, and delete its files.

#include "replication/store/open/shared_paths.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/file_content.h"
#include "tests/support/mentions.h"
#include "tests/support/own_mounts.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class SharedPathsTest : public StoreTest {
 protected:
  void MakeCheckpoint(const std::string& name) {
    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_ROCKS_OK(rocksdb::Checkpoint::Create(db_.get(), &raw));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    ASSERT_ROCKS_OK(checkpoint->CreateCheckpoint(Dir(name)));
  }
  ptrdiff_t Files(const std::string& name, const std::string& extension) {
    return std::count_if(
        fs::directory_iterator(Dir(name)), fs::directory_iterator(),
        [&](const auto& file) { return file.path().extension() == extension; });
  }
  // With a table.
  void MakeOfflineReplica() {
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(Put("key", "value"));
    ASSERT_ROCKS_OK(db_->Flush({}));
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
  }
  void ExpectRefused(const std::string& name, const std::string& path) {
    std::unique_ptr<ReplicatedDB> other;
    const rocksdb::Status status = OpenOther(name, &other);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find(Dir(path)), std::string::npos)
        << status.ToString();
    EXPECT_NE(status.ToString().find(Dir(name)), std::string::npos)
        << status.ToString();
  }
};

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
  // Once the owner is gone, it is free.
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::remove_all(Dir());
  for (const auto& file : fs::directory_iterator(Dir("tables"))) {
    if (file.path().extension() == ".sst") fs::remove(file);
  }
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

// Its database has it, and only the file in it says so.
TEST_F(SharedPathsTest, ALogThatWasCarriedElsewhereIsItsDatabases) {
  ASSERT_ROCKS_OK(Open("other"));
  MakeCheckpoint("checkpoint");
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir("wal"), Dir("carried"), fs::copy_options::recursive);
  fs::remove_all(Dir("wal"));
  options_.wal_dir = Dir("carried");
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("checkpoint", "carried");
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ACheckpointsLogIsNotPassedOver) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  rocksdb::Checkpoint* raw = nullptr;
  ASSERT_ROCKS_OK(rocksdb::Checkpoint::Create(db_.get(), &raw));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  ASSERT_ROCKS_OK(checkpoint->CreateCheckpoint(Dir("copy"), 1 << 30));
  replication_.open_copy_as_new_replica = true;
  options_.wal_dir = Dir("wal");
  ExpectRefused("copy", "wal");
  options_.wal_dir = Dir("copy/wal");
  ExpectRefused("copy", "copy/wal");
  options_.wal_dir.clear();
  std::unique_ptr<ReplicatedDB> copy;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  std::string value;
  EXPECT_ROCKS_OK(copy->Get({}, "key", &value));
}

// As shards have that one program makes.
TEST_F(SharedPathsTest, ALogOfTheSameNumberMayBeAnothers) {
  rocksdb::Options plain;
  plain.create_if_missing = true;
  for (const char* name : {"db", "other"}) {
    plain.wal_dir = Dir(name == std::string("db") ? "wal" : name);
    for (int i = 0; i < 2; ++i) {
      std::unique_ptr<rocksdb::DB> db;
      ASSERT_ROCKS_OK(OpenPlain(plain, Dir(name), &db));
      if (i > 0 && name == std::string("db")) {
        ASSERT_ROCKS_OK(db->Put({}, "key", "value"));
      }
    }
  }
  options_.wal_dir = Dir("wal");
  ExpectRefused("other", "wal");
  // Nor is the option forgotten when a database is adopted.
  options_.wal_dir.clear();
  ExpectRefused("db", "wal");
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ACopyThatWasOpenedIsNotTheOriginalAnyMore) {
  rocksdb::ColumnFamilyOptions family;
  family.cf_paths = {{Dir("tables"), 1 << 30}};
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(family, "family", &handle));
  ASSERT_ROCKS_OK(db_->DropColumnFamily(handle));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(Open("copy"));
  db_.reset();
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(family, "family", &handle));
  ASSERT_ROCKS_OK(db_->Put({}, handle, "key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}, handle));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("away"));
  fs::rename(Dir("copy"), Dir());
  ASSERT_ROCKS_OK(Open());
  EXPECT_TRUE(
      db_->CreateColumnFamily(family, "family", &handle).IsInvalidArgument());
}

// A directory that another database will use, and has not yet.
TEST_F(SharedPathsTest, ADirectoryWithinAPlainDatabaseIsNotTaken) {
  rocksdb::Options plain;
  plain.create_if_missing = true;
  plain.cf_paths = {{Dir("plain/tables"), 1 << 30}};
  std::unique_ptr<rocksdb::DB> other;
  ASSERT_ROCKS_OK(OpenPlain(plain, Dir("plain"), &other));
  ASSERT_ROCKS_OK(other->Put({}, "key", "value"));
  rocksdb::ColumnFamilyOptions family;
  family.cf_paths = plain.cf_paths;
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  EXPECT_TRUE(Mentions(db_->CreateColumnFamily(family, "family", &handle),
                       "lies in the directory of another database"));
  // Nor one for which `rocksync id --make` has made an id.
  fs::create_directory(Dir("to be"));
  std::ofstream(Dir("to be/ROCKSYNC.id")) << "id";
  family.cf_paths = {{Dir("to be"), 1 << 30}};
  EXPECT_TRUE(
      db_->CreateColumnFamily(family, "family", &handle).IsInvalidArgument());
}

TEST_F(SharedPathsTest, TwoThatAreMadeAtOnceShareNoDirectory) {
  for (int round = 0; round < 5; ++round) {
    const std::string number = std::to_string(round);
    options_.db_paths = {{Dir("tables" + number), 1 << 30}};
    std::array<std::unique_ptr<ReplicatedDB>, 2> made;
    std::array<rocksdb::Status, 2> said;
    std::latch both(2);
    const auto make = [&](size_t i) {
      both.arrive_and_wait();
      said[i] = OpenOther(std::to_string(i) + "of" + number, &made[i]);
    };
    std::thread other(make, 1);
    make(0);
    other.join();
    EXPECT_NE(said[0].ok(), said[1].ok())
        << said[0].ToString() << " " << said[1].ToString();
    for (const rocksdb::Status& status : said) {
      if (!status.ok()) EXPECT_TRUE(Mentions(status, "another database"));
    }
  }
}

// Its log is in it, or where it was, and the error says so.
TEST_F(SharedPathsTest, AReplicaThatWasKilledAndMovedIsToldWhereItsLogIs) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  CopyAsKilled("db", "moved");
  options_.wal_dir = Dir("wal");
  ExpectRefused("moved", "wal");
  options_.wal_dir.clear();
  std::unique_ptr<ReplicatedDB> moved;
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(OpenOther("moved", &moved));
  std::string value;
  EXPECT_ROCKS_OK(moved->Get({}, "key", &value));
  moved.reset();
  replication_.open_copy_as_new_replica = false;
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  // With a log within it.
  options_.wal_dir = Dir("within/wal");
  ASSERT_ROCKS_OK(Open("within"));
  ASSERT_ROCKS_OK(Put("key", "value"));
  fs::copy(Dir("within"), Dir("away"), fs::copy_options::recursive);
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  for (const char* wal : {"", "wal"}) {
    options_.wal_dir = *wal == '\0' ? "" : Dir(wal);
    ExpectRefused("away", "away/wal");
  }
  // With a log elsewhere that is forgotten.
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open("other"));
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir("other"), Dir("others"));
  options_.wal_dir.clear();
  ExpectRefused("others", "wal");
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open("others"));
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ACheckpointThatIsRefusedStaysAsItIs) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  MakeCheckpoint("copy");
  const auto files = [&] {
    std::map<std::string, size_t> all;
    for (const auto& file : fs::directory_iterator(Dir("copy"))) {
      const std::string name = file.path().filename();
      if (!file.is_regular_file() || name == "LOCK" || name.starts_with("LOG"))
        continue;
      all[name] = std::hash<std::string>()(FileContent(file.path()));
    }
    return all;
  };
  const std::map<std::string, size_t> before = files();
  for (const char* wal : {"", "wal", "copy/wal"}) {
    options_.wal_dir = *wal == '\0' ? "" : Dir(wal);
    std::unique_ptr<ReplicatedDB> copy;
    const rocksdb::Status status = OpenOther("copy", &copy);
    EXPECT_TRUE(Mentions(status, "is a copy of another replica"));
    EXPECT_EQ(files(), before) << wal;
  }
}

TEST_F(SharedPathsTest, WhatWasNotMadeOwnsNothing) {
  options_.db_paths.assign(5, {Dir("tables"), 1 << 30});
  std::unique_ptr<ReplicatedDB> other;
  EXPECT_FALSE(OpenOther("other", &other).ok());
  EXPECT_FALSE(fs::exists(Dir("tables/ROCKSYNC.owner")));
  EXPECT_FALSE(fs::exists(Dir("other/ROCKSYNC.paths")));
  options_.db_paths.clear();
  ASSERT_ROCKS_OK(OpenOther("other", &other));
  rocksdb::ColumnFamilyOptions options;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_ROCKS_OK(other->CreateColumnFamily(options, "family", &handle));
  ASSERT_ROCKS_OK(other->DestroyColumnFamilyHandle(handle));
  options.cf_paths = {{Dir("tables"), 1 << 30}};
  EXPECT_FALSE(other->CreateColumnFamily(options, "family", &handle).ok());
  EXPECT_FALSE(fs::exists(Dir("tables/ROCKSYNC.owner")));
  options_.db_paths = options.cf_paths;
  EXPECT_ROCKS_OK(Open());
}

TEST_F(SharedPathsTest, ACopyThatDoesNotOpenIsAsBefore) {
  options_.db_paths = {{Dir("db/tables"), 1 << 30}};
  options_.wal_dir = Dir("db/wal");
  MakeOfflineReplica();
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  fs::copy(Dir("copy"), Dir("again"), fs::copy_options::recursive);
  const std::string paths = FileContent(Dir("copy/ROCKSYNC.paths"));
  replication_.open_copy_as_new_replica = true;
  // The tables are forgotten.
  options_.db_paths.clear();
  for (const char* wal : {"copy/wal", ""}) {
    options_.wal_dir = *wal == '\0' ? "" : Dir(wal);
    std::unique_ptr<ReplicatedDB> copy;
    EXPECT_FALSE(OpenOther("copy", &copy).ok());
    EXPECT_EQ(FileContent(Dir("copy/ROCKSYNC.paths")), paths);
  }
  options_.db_paths = {{Dir("copy/tables"), 1 << 30}};
  // Another copy's log is not its own, though it has the same token.
  options_.wal_dir = Dir("again/wal");
  ExpectRefused("copy", "again/wal");
  options_.wal_dir = Dir("copy/wal");
  std::unique_ptr<ReplicatedDB> copy;
  EXPECT_ROCKS_OK(OpenOther("copy", &copy));
}

TEST_F(SharedPathsTest, AnOpeningThatFailsOwnsNothing) {
  options_.wal_dir = Dir("wal");
  MakeOfflineReplica();
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (file.path().extension() == ".sst") fs::remove(file.path());
  }
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  EXPECT_FALSE(Open().ok());
  EXPECT_FALSE(fs::exists(Dir("tables/ROCKSYNC.owner")));
  EXPECT_TRUE(fs::exists(Dir("wal/ROCKSYNC.owner")));
}

TEST_F(SharedPathsTest, AnotherDatabaseThatWasHereIsNamedSo) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  MakeOfflineReplica();
  fs::rename(Dir(), Dir("away"));
  std::unique_ptr<ReplicatedDB> db;
  EXPECT_TRUE(Mentions(OpenOther("db", &db), "before this one"));
}

// Its disk is not mounted.
TEST_F(SharedPathsTest, ADirectoryOfOneThatIsAwayIsNoPlaceForANewOne) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("away"));
  options_.db_paths.clear();
  std::unique_ptr<ReplicatedDB> db;
  EXPECT_TRUE(Mentions(OpenOther("tables", &db), "is no database"));
}

TEST_F(SharedPathsTest, WhereNobodyCanWriteIsNamed) {
  const auto expect_named = [&](const std::string& what) {
    std::unique_ptr<ReplicatedDB> db;
    const rocksdb::Status status = OpenOther("db", &db);
    EXPECT_TRUE(status.IsIOError()) << status.ToString();
    EXPECT_TRUE(Mentions(status, what));
    EXPECT_TRUE(Mentions(status, "make room"));
  };
  std::ofstream(Dir("file")) << "no directory";
  options_.wal_dir = Dir("file") + "/wal";
  expect_named(Dir("file/wal") + " cannot be made");
  options_.wal_dir.clear();
  options_.db_paths = {{Dir("file") + "/tables", 1 << 30}};
  expect_named(Dir("file/tables") + " cannot be made");
  options_.db_paths.clear();
  options_.wal_dir = Dir("wal");
  fs::create_directory(Dir("wal"));
  fs::create_directory(Dir("db"));
  std::thread([&] {
    if (!HasOwnMounts()) return;
    const auto read_only = [&](const std::string& name) {
      return mount("none", Dir(name).c_str(), "tmpfs", MS_RDONLY, nullptr) == 0;
    };
    if (read_only("wal")) {
      expect_named("DBOptions::wal_dir of " + Dir("db") + ", " + Dir("wal"));
    }
  }).join();
  std::unique_ptr<ReplicatedDB> db;
  EXPECT_ROCKS_OK(OpenOther("db", &db));
}

TEST_F(SharedPathsTest, ADamagedOwnerFileIsNamed) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const std::string owner = Dir("wal") + "/ROCKSYNC.owner";
  const auto expect_named = [&](const std::string& file) {
    const rocksdb::Status status = Open();
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_TRUE(Mentions(status, file + ", which says"));
  };
  std::ofstream(owner) << "1 2 3";
  expect_named(owner);
  std::ofstream(owner) << std::string(1 << 20, '1');
  expect_named(owner);
  fs::remove(owner);
  // Neither of them ends.
  ASSERT_EQ(mkfifo(owner.c_str(), 0600), 0);
  expect_named(owner);
  fs::remove(owner);
  fs::create_symlink("/dev/zero", owner);
  expect_named(owner);
  fs::remove(owner);
  fs::create_directory(owner);
  expect_named(owner);
  fs::remove(owner);
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const std::string paths = Dir() + "/ROCKSYNC.paths";
  std::ofstream(paths) << "1 2 3";
  expect_named(paths);
  // As the remedy says.
  fs::remove(paths);
  fs::remove(owner);
  ASSERT_ROCKS_OK(Open());
}

}  // namespace
}  // namespace rocksync

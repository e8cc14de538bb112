// Whose a directory is once its database was moved, copied, restored, killed,
// or was not made in the end.

#include "replication/store/open/path_ownership.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "replication/store/store_access.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/shared_paths_fixture.h"
#include "tests/support/file_content.h"
#include "tests/support/mentions.h"
#include "tests/support/own_mounts.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

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

// What the library wrote of a directory may be older than what RocksDB did.
TEST_F(SharedPathsTest, ADetachedDatabaseMayHaveItsLogElsewhereSince) {
  options_.wal_dir = Dir("before");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_ROCKS_OK(ReplicatedDB::Detach(options_, Dir()));
  fs::copy(Dir("before"), Dir("later"), fs::copy_options::recursive);
  rocksdb::Options plain;
  plain.wal_dir = Dir("later");
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_ROCKS_OK(OpenPlain(plain, Dir(), &db));
  ASSERT_ROCKS_OK(db->Put({}, "later", "value"));
  db.reset();
  ExpectRefused("db", "before");
  options_.wal_dir = Dir("later");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("later"), "value");
}

TEST_F(SharedPathsTest, TheArchiveOfACopyIsNotItsOriginals) {
  options_.wal_dir = Dir("db/log");
  ASSERT_ROCKS_OK(Open());
  MakeAndDropFamilyIn("db/log/archive");
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  options_.wal_dir = Dir("copy/log");
  options_.WAL_ttl_seconds = 3600;
  replication_.open_copy_as_new_replica = true;
  for (int opening = 0; opening < 3; ++opening) {
    std::unique_ptr<ReplicatedDB> copy;
    ASSERT_ROCKS_OK(OpenOther("copy", &copy));
    ASSERT_ROCKS_OK(copy->Put({}, "key", std::to_string(opening)));
    ASSERT_ROCKS_OK(copy->Flush({}));
    ASSERT_ROCKS_OK(copy->Close());
  }
  EXPECT_GT(Files("copy/log/archive", ".log"), 0);
}

// RocksDB will move logs there.
TEST_F(SharedPathsTest, TheArchiveOfAPlainLogIsItsDatabases) {
  rocksdb::Options plain;
  plain.create_if_missing = true;
  plain.wal_dir = Dir("log");
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_ROCKS_OK(OpenPlain(plain, Dir("plain"), &db));
  ASSERT_ROCKS_OK(db->Put({}, "key", "value"));
  db.reset();
  options_.db_paths = {{Dir("log/archive"), 1 << 30}};
  ExpectRefused("db", "log/archive");
  // Unless that one wants it so.
  options_.wal_dir = Dir("log");
  options_.WAL_ttl_seconds = 3600;
  fs::create_directory(Dir("log/archive"));
  std::ofstream(Dir("log/archive/000001.log")) << "earlier";
  ASSERT_ROCKS_OK(Open("plain"));
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
  MakeAndDropFamilyIn("tables");
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
      if (!status.ok()) {
        EXPECT_TRUE(Mentions(status, "another database"));
      }
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

// Tables tell of it what the index needs to go on, and not all that was
// acknowledged.
TEST_F(SharedPathsTest, ACopyOfOneThatWasKilledNeedsItsLog) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("table", "value"));
  IndexedDB* const indexed = StoreAccess::IndexedOf(db_.get());
  for (auto* family : {db_->DefaultColumnFamily(), indexed->reader().index()}) {
    ASSERT_ROCKS_OK(indexed->db()->Flush({}, family));
  }
  ASSERT_ROCKS_OK(Put("log", "value"));
  CopyAsKilled("db", "copy");
  options_.wal_dir.clear();
  std::unique_ptr<ReplicatedDB> copy;
  const rocksdb::Status status = OpenOther("copy", &copy);
  EXPECT_TRUE(status.IsAborted()) << status.ToString();
  for (const std::string& named : {std::string("no *.log"), Dir("wal")}) {
    EXPECT_NE(status.ToString().find(named), std::string::npos)
        << status.ToString();
  }
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
  options_.wal_dir = Dir("file");
  std::unique_ptr<ReplicatedDB> none;
  EXPECT_TRUE(Mentions(OpenOther("db", &none), Dir("file") + " is a file"));
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

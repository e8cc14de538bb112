// The index is gone, empty or lacks a part where there should be one: nobody
// takes that for a plain database.

#include <filesystem>
#include <fstream>
#include <string>

#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class LostIndexTest : public StoreTest {
 protected:
  // A replica of 20 pairs, closed.
  void MakeOfflineReplica() {
    ASSERT_ROCKS_OK(Open());
    Fill(0, 20, "v");
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
  }

  void Fill(int from, int to, const std::string& value) {
    for (int i = from; i < to; ++i) {
      ASSERT_ROCKS_OK(db_->Put(Synced(), "key" + std::to_string(i), value));
    }
  }
  static rocksdb::WriteOptions Synced() {
    rocksdb::WriteOptions options;
    options.sync = true;
    return options;
  }
  void ExpectRefused(const std::string& name, const std::string& remedy) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::unique_ptr<ReplicatedDB> db;
      const rocksdb::Status refused = OpenOther(name, &db);
      ASSERT_FALSE(refused.ok());
      EXPECT_NE(refused.ToString().find(remedy), std::string::npos)
          << refused.ToString();
      EXPECT_NE(refused.ToString().find(Dir(name)), std::string::npos)
          << refused.ToString();
    }
  }
  void ExpectAdopted(const std::string& name) {
    replication_.discard_history_of = {};
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    EXPECT_EQ(Get("k"), "v");
    EXPECT_EQ(Total().count, 1u);
    ASSERT_ROCKS_OK(Open(name));
    EXPECT_EQ(Get("k"), "v");
    ASSERT_NO_FATAL_FAILURE(CloseAndCheck(nullptr, name));
  }
  // Opens the raw families, index included.
  void WithIndex(
      const std::function<void(rocksdb::DB*, rocksdb::ColumnFamilyHandle*)>&
          work) {
    rocksdb::DB* raw = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_ROCKS_OK(OpenPlain(
        {}, Dir(), {{"default", {}}, {kIndexFamilyName, {}}}, &handles, &raw));
    work(raw, handles[1]);
    for (auto* handle : handles) {
      raw->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    delete raw;
  }
};

// RocksDB's RepairDB knows families by their SST files. The index has none yet.
TEST_F(LostIndexTest, RepairDropsAnIndexThatIsInTheLogOnly) {
  ASSERT_ROCKS_OK(Open());
  Fill(0, 20, "v");
  CopyAsKilled("db", "image");
  ASSERT_ROCKS_OK(rocksdb::RepairDB(Dir("image"), rocksdb::Options()));
  std::vector<std::string> names;
  ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir("image"), &names));
  ASSERT_EQ(names, std::vector<std::string>{"default"});
  ExpectRefused("image", "adopt_after_index_loss");
}

TEST_F(LostIndexTest, RepairMayHaveLostAPart) {
  ASSERT_ROCKS_OK(Open());
  Fill(0, 20, "v");
  ASSERT_ROCKS_OK(Open());
  Fill(10, 30, "w");
  CopyAsKilled("db", "image");
  ASSERT_ROCKS_OK(rocksdb::RepairDB(Dir("image"), rocksdb::Options()));
  std::vector<std::string> names;
  ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir("image"), &names));
  ASSERT_EQ(names.size(), 2u);
  ExpectRefused("image", "open_copy_as_new_replica");
}

TEST_F(LostIndexTest, DroppedByARocksDBProgram) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  WithIndex([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index) {
    ASSERT_ROCKS_OK(db->DropColumnFamily(index));
  });
  ExpectRefused("db", "adopt_after_index_loss");
}

TEST_F(LostIndexTest, Emptied) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  WithIndex([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index) {
    ASSERT_ROCKS_OK(db->DeleteRange({}, index, "", std::string(64, '\xff')));
  });
  ExpectRefused("db", "adopt_after_index_loss");
}

TEST_F(LostIndexTest, LacksAnyOfItsRecords) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  for (const std::string_view name :
       {kFormatRecord, kClusterRecord, kIdentityRecord, kPastRecord,
        kPlaceRecord, kFamiliesRecord, kGcStateRecord, kLeaseRecord}) {
    SCOPED_TRACE(name);
    std::string bytes;
    WithIndex([&](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index) {
      ASSERT_ROCKS_OK(db->Get({}, index, MetaKey(name), &bytes));
      ASSERT_ROCKS_OK(db->Delete({}, index, MetaKey(name)));
    });
    ExpectRefused("db", "adopt_after_index_loss");
    WithIndex([&](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index) {
      ASSERT_ROCKS_OK(db->Put({}, index, MetaKey(name), bytes));
    });
  }
  ASSERT_ROCKS_OK(Open());
}

// What adopt_after_index_loss is for: a new replica with all pairs at version
// 0.
TEST_F(LostIndexTest, AdoptedAnewWhenToldTo) {
  ASSERT_ROCKS_OK(Open());
  Fill(0, 20, "v");
  const uint64_t before = db_->Identity().replica_id;
  CopyAsKilled("db", "image");
  ASSERT_ROCKS_OK(rocksdb::RepairDB(Dir("image"), rocksdb::Options()));
  replication_.adopt_after_index_loss = true;
  ASSERT_ROCKS_OK(Open("image"));
  replication_.adopt_after_index_loss = false;
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_NE(db_->Identity().replica_id, before);
  EXPECT_EQ(Total().count, 20u);
  {
    const auto view = StoreAccess::NewView(db_.get());
    const auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    EXPECT_EQ((*snapshot)->FindKey(0, "key7").value()->version, Version{});
  }
  ASSERT_ROCKS_OK(Open("image"));
  EXPECT_EQ(Get("key7"), "v");
}

// The first pair of a family is a foreign write, and a kill comes before it is
// noticed: the pair is there, and what is said first keeps it.
TEST_F(LostIndexTest, AForeignWriteBeforeAnyOtherAndAKill) {
  // Noticed within about a second: a slow machine tries again.
  rocksdb::Status refused;
  std::string image;
  for (int i = 0; i < 20 && refused.ok(); ++i) {
    image = "image" + std::to_string(i);
    ASSERT_ROCKS_OK(Open("db" + std::to_string(i)));
    ASSERT_ROCKS_OK(db_->GetBaseDB()->Put(Synced(), "k", "v"));
    CopyAsKilled("db" + std::to_string(i), image);
    refused = Open(image);
  }
  const std::string said = refused.ToString();
  const auto at = [&said](const char* part) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
    return said.find(part);
  };
  EXPECT_LT(at("GetBaseDB()"), at("lost what it knew"));
  EXPECT_LT(at("discard_history_of"), at("new, empty replica"));
  EXPECT_LT(at("adopt_after_index_loss"), at("new, empty replica"));
  ASSERT_NO_FATAL_FAILURE(CopyAsKilled(image, "other"));
  replication_.discard_history_of = {"default"};
  ASSERT_ROCKS_OK(Open(image));
  ASSERT_NO_FATAL_FAILURE(ExpectAdopted(image));
  replication_.discard_history_of = {};
  replication_.adopt_after_index_loss = true;
  ASSERT_ROCKS_OK(Open("other"));
  replication_.adopt_after_index_loss = false;
  ASSERT_NO_FATAL_FAILURE(ExpectAdopted("other"));
}

TEST_F(LostIndexTest, DetachMakesItPlain) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  WithIndex([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index) {
    ASSERT_ROCKS_OK(db->DropColumnFamily(index));
  });
  ASSERT_ROCKS_OK(ReplicatedDB::Detach({}, Dir()));
  EXPECT_FALSE(fs::exists(Dir() + "/" + kMarkerFileName));
  EXPECT_TRUE(ReplicatedDB::Detach({}, Dir()).IsNotFound());
  ASSERT_ROCKS_OK(Open());
}

// DestroyDB knows RocksDB's files only. What is made there afterwards is new,
// if the library makes it; what a RocksDB program makes there may be what
// somebody restored.
TEST_F(LostIndexTest, AfterDestroyDB) {
  ASSERT_ROCKS_OK(Open());
  Fill(0, 20, "v");
  const uint64_t before = db_->Identity().replica_id;
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_ROCKS_OK(rocksdb::DestroyDB(
      Dir(), rocksdb::Options(), {{"default", {}}, {kIndexFamilyName, {}}}));
  ASSERT_TRUE(fs::exists(Dir() + "/" + kMarkerFileName));
  ASSERT_ROCKS_OK(Open());
  EXPECT_NE(db_->Identity().replica_id, before);
  EXPECT_EQ(Total().count, 0u);
  ASSERT_ROCKS_OK(Put("k", "v"));
  ASSERT_ROCKS_OK(Open());
  db_.reset();
  ASSERT_ROCKS_OK(rocksdb::DestroyDB(
      Dir(), rocksdb::Options(), {{"default", {}}, {kIndexFamilyName, {}}}));
  Plain("db", [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "k", "v")); });
  ExpectRefused("db", "adopt_after_index_loss");
}

// RocksDB would begin an empty database there and delete the tables.
TEST_F(LostIndexTest, WithoutCurrentNothingIsBegun) {
  ASSERT_ROCKS_OK(Open());
  Fill(0, 20, "v");
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir() + "/CURRENT", root_ / "CURRENT");
  ExpectRefused("db", "CURRENT");
  fs::rename(root_ / "CURRENT", Dir() + "/CURRENT");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
}

// RepairDB leaves no log. All that it says to do works.
TEST_F(LostIndexTest, TheLogAndTheIndexAreLost) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  WithIndex([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* index) {
    ASSERT_ROCKS_OK(db->DeleteRange({}, index, "", std::string(64, '\xff')));
    ASSERT_ROCKS_OK(db->Flush({}, index));
    ASSERT_ROCKS_OK(db->Flush({}));
  });
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (file.path().extension() == ".log") fs::remove(file);
  }
  const std::string said = Open().ToString();
  EXPECT_NE(said.find("a checkpoint or backup was restored"), std::string::npos)
      << said;
  EXPECT_EQ(said.find(Dir()), said.rfind(Dir())) << "said twice: " << said;
  ExpectRefused("db", "adopt_after_index_loss");
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("db", "adopt_after_index_loss");
  replication_.open_copy_as_new_replica = false;
  replication_.adopt_after_index_loss = true;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
}

// As another program may, which knows nothing of the file.
TEST_F(LostIndexTest, MadeAnewByARocksDBProgram) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_ROCKS_OK(rocksdb::DestroyDB(Dir(), rocksdb::Options()));
  Plain("db", [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "k", "v")); });
  ExpectRefused("db", "after DestroyDB, remove the file ROCKSYNC");
  fs::remove(Dir() + "/ROCKSYNC");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("k"), "v");
}

TEST_F(LostIndexTest, TheLogIsLostOrElsewhere) {
  options_.wal_dir = Dir("log");
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  options_.wal_dir = "";
  ExpectRefused("db", Dir("log"));
  options_.wal_dir = Dir("log");
  fs::rename(Dir("log"), Dir("away"));
  ExpectRefused("db", "open_copy_as_new_replica");
  fs::remove_all(Dir("log"));
  fs::rename(Dir("away"), Dir("log"));
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
  // Moved with its owner's knowledge.
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  for (const auto& file : fs::directory_iterator(Dir("log"))) {
    fs::rename(file, fs::path(Dir()) / file.path().filename());
  }
  options_.wal_dir = "";
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
}

// Opened again, one that was refused by RocksDB alone replayed that log, and
// deleted it.
TEST_F(LostIndexTest, ANewDatabaseTakesNobodysLog) {
  options_.wal_dir = Dir("log");
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  for (int i = 0; i < 2; ++i) {
    ExpectRefused("new", "holds the log of another database");
    EXPECT_FALSE(fs::exists(Dir("new")));
  }
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
  db_.reset();
  // Of which RocksDB would delete what it does not know, which is all.
  options_.wal_dir = Dir();
  ExpectRefused("new",
                "holds the log of another database, or that "
                "database itself");
}

TEST_F(LostIndexTest, ALogDirectoryThatCannotBeMadeLeavesNothingBehind) {
  std::ofstream(Dir("file")) << "of a user";
  for (const std::string& log : {Dir("no") + "/such/log", Dir("file")}) {
    options_.wal_dir = log;
    std::unique_ptr<ReplicatedDB> db;
    const rocksdb::Status refused = OpenOther("new", &db);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.ToString().find(log), std::string::npos)
        << refused.ToString();
    EXPECT_FALSE(fs::exists(Dir("new")));
  }
  options_.wal_dir = Dir("log");
  std::unique_ptr<ReplicatedDB> db;
  ASSERT_ROCKS_OK(OpenOther("new", &db));
}

}  // namespace
}  // namespace rocksync

// An opening that is refused writes nothing: the directory is, byte for byte,
// what the last close left, and the offline tools take it so.

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/intended_id.h"
#include "replication/store/format/marker.h"
#include "replication/store/offline/offline_replica.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/file_content.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class RefusedOpeningTest : public StoreTest {
 protected:
  using Names = std::vector<std::string>;
  using Files = std::map<std::string, std::string>;

  rocksdb::Status OpenFamilies(const Names& names,
                               const ReplicatedDBOptions& replication) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) {
      families.push_back({name, rocksdb::ColumnFamilyOptions(options_)});
    }
    rocksdb::DBOptions options(options_);
    options.create_missing_column_families = true;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status = ReplicatedDB::Open(
        options, replication, Dir(), families, &handles, &raw);
    db_.reset(raw);
    for (auto* handle : handles) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    return status;
  }

  // With pairs in files and in the log, closed cleanly.
  void MakeOfflineReplica() {
    ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, replication_));
    ASSERT_ROCKS_OK(Put("flushed", "1"));
    ASSERT_ROCKS_OK(
        db_->Flush(rocksdb::FlushOptions(), db_->DefaultColumnFamily()));
    ASSERT_ROCKS_OK(Put("logged", "2"));
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
  }

  Files Contents() const { return ContentOfFiles(Dir()); }

  static Names NamesOf(const Files& files) {
    Names names;
    for (const auto& [name, bytes] : files) names.push_back(name);
    return names;
  }

  void ExpectClosedCleanly(const std::string& name = "db") {
    const Names names = {"default", "orders", kIndexFamilyName};
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& family : names) families.push_back({family, {}});
    rocksdb::DBOptions options;
    options.info_log = std::make_shared<Silent>();
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    std::unique_ptr<rocksdb::DB> db;
    ASSERT_ROCKS_OK(
        OpenPlainForReadOnly(options, Dir(name), families, &handles, &db));
    std::unique_ptr<OfflineReplica> replica;
    EXPECT_ROCKS_OK(OfflineReplica::Open(
        db.get(), handles, "test", replication_.cluster_secret, &replica));
    replica.reset();
    for (auto* handle : handles) {
      EXPECT_ROCKS_OK(db->DestroyColumnFamilyHandle(handle));
    }
  }

  void ExpectUntouched(const Files& before, const rocksdb::Status& status,
                       const std::string& says) {
    EXPECT_EQ(db_, nullptr);
    EXPECT_NE(status.ToString().find(says), std::string::npos)
        << status.ToString();
    const Files after = Contents();
    EXPECT_EQ(NamesOf(after), NamesOf(before));
    EXPECT_TRUE(after == before) << "the bytes of a file differ";
  }

 private:
  struct Silent final : rocksdb::Logger {
    using rocksdb::Logger::Logv;
    void Logv(const char*, va_list) override {}
  };
};

TEST_F(RefusedOpeningTest, WritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  const Files before = Contents();
  struct Case {
    const char* says;
    Names families;
    std::function<void(ReplicatedDBOptions*)> set;
  };
  const Names both = {"default", "orders"};
  const std::vector<Case> cases = {
      {"belongs to cluster 'test'", both,
       [](auto* r) { r->cluster_name = "other"; }},
      {"cluster_secret", both, [](auto* r) { r->cluster_secret.fill(8); }},
      {"discard_history_of", both, [](auto* r) { r->families = {"default"}; }},
      {"a column family with an empty name: name it",
       {"default", "orders", ""},
       [](auto*) {}},
      {"ReplicatedDBOptions::families holds an empty name", both,
       [](auto* r) {
         r->families = {"default", ""};
       }},
      {"merge_families holds an empty name", both,
       [](auto* r) { r->merge_families = {""}; }},
      {"discard_history_of holds an empty name", both,
       [](auto* r) { r->discard_history_of = {""}; }},
      // It is there, and was not dropped.
      {"Column families not opened: orders", {"default"}, [](auto*) {}},
      // Families that the opening would make first.
      {"belongs to cluster 'test'",
       {"default", "orders", "new"},
       [](auto* r) { r->cluster_name = "other"; }},
  };
  for (const Case& refused : cases) {
    SCOPED_TRACE(refused.says);
    ReplicatedDBOptions replication = replication_;
    refused.set(&replication);
    const rocksdb::Status status = OpenFamilies(refused.families, replication);
    ExpectUntouched(before, status, refused.says);
    ExpectClosedCleanly();
  }
  ASSERT_ROCKS_OK(OpenFamilies(both, replication_));
  EXPECT_EQ(Get("logged"), "2");
}

// That a clone or a backup brought: a terminal obeys some of its bytes.
TEST_F(RefusedOpeningTest, NamesOfFamiliesArePrintable) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "a\x1b[2J\x9b"}, replication_));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const rocksdb::Status status = OpenFamilies({"default"}, replication_);
  EXPECT_NE(status.ToString().find("not opened: a\\x1b[2J\\x9b"),
            std::string::npos)
      << status.ToString();
}

TEST_F(RefusedOpeningTest, WithoutAName) {
  ReplicatedDB* raw = nullptr;
  const rocksdb::Status status =
      ReplicatedDB::Open(options_, replication_, "", &raw);
  EXPECT_NE(status.ToString().find("is empty"), std::string::npos)
      << status.ToString();
}

TEST_F(RefusedOpeningTest, OfAFamilyThatWasDroppedWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(
      {}, Dir(), {{"default", {}}, {"orders", {}}, {kIndexFamilyName, {}}},
      &handles, &raw));
  ASSERT_ROCKS_OK(raw->DropColumnFamily(handles[1]));
  for (auto* handle : handles) {
    ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
  }
  delete raw;
  const Files before = Contents();
  ExpectUntouched(before, OpenFamilies({"default"}, replication_), "orders");
  // Nor is a family of that name made first.
  ExpectUntouched(before, OpenFamilies({"default", "orders"}, replication_),
                  "orders");
}

TEST_F(RefusedOpeningTest, OfACopyWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  fs::remove(Dir() + "/" + kMarkerFileName);
  const Files copy = Contents();
  const Names both = {"default", "orders"};
  ExpectUntouched(copy, OpenFamilies(both, replication_),
                  "is a copy of another replica");
  ExpectClosedCleanly();
}

TEST_F(RefusedOpeningTest, OfAnotherRocksDBIdentityWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  std::ofstream(Dir() + "/IDENTITY") << "somebody else's";
  const Files before = Contents();
  const rocksdb::Status status =
      OpenFamilies({"default", "orders"}, replication_);
  // Where RocksDB keeps the identity in the MANIFEST, too, the file says
  // nothing.
  if (!status.ok()) {
    ExpectUntouched(before, status, "another RocksDB identity");
  }
}

TEST_F(RefusedOpeningTest, OfAnOlderStateWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  fs::copy(Dir(), Dir("older"));
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, replication_));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy_file(Dir() + "/" + kMarkerFileName,
                Dir("older") + "/" + kMarkerFileName,
                fs::copy_options::overwrite_existing);
  fs::remove_all(Dir());
  fs::rename(Dir("older"), Dir());
  const Files before = Contents();
  ExpectUntouched(before, OpenFamilies({"default", "orders"}, replication_),
                  "an older one was put");
  ExpectClosedCleanly();
}

// RocksDB would take away the tables that the older MANIFEST does not list.
TEST_F(RefusedOpeningTest, OfAnOlderStatePutOverANewerOneWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  fs::copy(Dir(), Dir("older"));
  for (const bool killed : {false, true}) {
    SCOPED_TRACE(killed);
    // With the index in tables nothing in the log tells of the later opening.
    options_.atomic_flush = true;
    ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, replication_));
    ASSERT_ROCKS_OK(Put("newer", "3"));
    ASSERT_ROCKS_OK(
        db_->Flush(rocksdb::FlushOptions(), db_->DefaultColumnFamily()));
    ASSERT_ROCKS_OK(Put("newest", "4"));
    if (killed) {
      CopyAsKilled("db", "newer");
      db_.reset();
      fs::remove_all(Dir());
      fs::rename(Dir("newer"), Dir());
    } else {
      ASSERT_ROCKS_OK(db_->Close());
      db_.reset();
    }
    fs::copy(
        Dir("older"), Dir(),
        fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    const Files before = Contents();
    ExpectUntouched(before, OpenFamilies({"default", "orders"}, replication_),
                    "an older one was put");
    // What is left of both is a new replica.
    ReplicatedDBOptions as_new = replication_;
    as_new.open_copy_as_new_replica = true;
    ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, as_new));
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    fs::remove_all(Dir());
    fs::copy(Dir("older"), Dir());
  }
}

// A clone that was killed before it wrote anything else.
TEST_F(RefusedOpeningTest, OfAnUnfinishedCloneWritesNothing) {
  fs::create_directory(Dir());
  CloneRecord record;
  record.replica_id = 7;
  ASSERT_ROCKS_OK(WriteCloneRecord(rocksdb::Env::Default(), Dir(), record));
  const Files before = Contents();
  ExpectUntouched(before, OpenFamilies({"default"}, replication_),
                  "rocksync clone");
  std::vector<std::string> names;
  ASSERT_ROCKS_OK(rocksdb::Env::Default()->GetChildren(Dir(), &names));
  EXPECT_EQ(names, Names{kCloneRecordFileName});
}

TEST_F(RefusedOpeningTest, OfAnEmptyIndexWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(
      {}, Dir(), {{"default", {}}, {"orders", {}}, {kIndexFamilyName, {}}},
      &handles, &raw));
  ASSERT_ROCKS_OK(
      raw->DeleteRange({}, handles[2], "", std::string(64, '\xff')));
  for (auto* handle : handles) {
    ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
  }
  delete raw;
  const Files before = Contents();
  ExpectUntouched(before, OpenFamilies({"default", "orders"}, replication_),
                  "adopt_after_index_loss");
}

// What would be a new replica is refused before there is a database, which the
// next opening would take for a plain one.
TEST_F(RefusedOpeningTest, ForTheReplicaIdWritesNothing) {
  ASSERT_ROCKS_OK(rocksdb::Env::Default()->CreateDirIfMissing(Dir()));
  ASSERT_ROCKS_OK(WriteIntendedId(rocksdb::Env::Default(), Dir(), 1));
  const Files before = Contents();
  ReplicatedDBOptions replication = replication_;
  replication.new_replica_id = 2;
  ExpectUntouched(before, OpenFamilies({"default"}, replication),
                  "new_replica_id");
  ASSERT_ROCKS_OK(OpenFamilies({"default"}, replication_));
  EXPECT_EQ(db_->Identity().replica_id, 1u);
}

TEST_F(RefusedOpeningTest, ForTheReplicaIdLeavesAPlainDatabaseAsItIs) {
  Plain("db", [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "k", "v")); });
  ASSERT_ROCKS_OK(WriteIntendedId(rocksdb::Env::Default(), Dir(), 1));
  const Files before = Contents();
  ReplicatedDBOptions replication = replication_;
  replication.adopt_existing = true;
  replication.new_replica_id = 2;
  ExpectUntouched(before, OpenFamilies({"default"}, replication),
                  "new_replica_id");
}

// A file that a copy brought along, too.
TEST_F(RefusedOpeningTest, ForADamagedReplicaIdWritesNothing) {
  ASSERT_NO_FATAL_FAILURE(MakeOfflineReplica());
  fs::remove(Dir() + "/" + kMarkerFileName);
  std::ofstream(Dir() + "/" + kIntendedIdFileName) << "no id\n";
  const Files before = Contents();
  ReplicatedDBOptions replication = replication_;
  replication.open_copy_as_new_replica = true;
  ExpectUntouched(before, OpenFamilies({"default", "orders"}, replication),
                  kIntendedIdFileName);
  ExpectClosedCleanly();
}

}  // namespace
}  // namespace rocksync

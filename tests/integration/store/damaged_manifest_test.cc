// A database whose list of files is damaged: that is said, with RocksDB's words
// and a remedy that is one, and RocksDB deletes nothing.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "replication/store/format/current_manifest.h"
#include "replication/store/format/index_key.h"
#include "rocksdb/convenience.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class DamagedManifestTest : public StoreTest {
 protected:
  // A replica of 20 pairs in tables, as "whole"; each trial is of a copy that
  // has the place of the original, "db".
  void SetUp() override {
    StoreTest::SetUp();
    for (int opening = 0; opening < 2; ++opening) {
      ASSERT_ROCKS_OK(Open());
      for (int i = 0; i < 20; ++i) {
        ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "v"));
      }
      ASSERT_ROCKS_OK(db_->Flush({}));
    }
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    fs::rename(Dir(), Dir("whole"));
    Renew();
  }

  void Renew() {
    fs::remove_all(Dir());
    fs::copy(Dir("whole"), Dir(), fs::copy_options::recursive);
  }

  fs::path Manifest() {
    std::string name = CurrentManifest(rocksdb::Env::Default(), Dir());
    name.pop_back();  // the line feed
    return fs::path(Dir()) / name;
  }

  std::set<std::string> Tables(const std::string& name = "db") {
    std::set<std::string> tables;
    for (const auto& file : fs::directory_iterator(Dir(name))) {
      if (file.path().extension() == ".sst") {
        tables.insert(file.path().filename());
      }
    }
    return tables;
  }

  bool ListsIndex() {
    std::vector<std::string> names;
    return rocksdb::DB::ListColumnFamilies({}, Dir(), &names).ok() &&
           std::find(names.begin(), names.end(), kIndexFamilyName) !=
               names.end();
  }

  // The least length of the MANIFEST at which it lists the index.
  uintmax_t LengthWithIndex() {
    uintmax_t length = 0;
    for (;; ++length) {
      Renew();
      fs::resize_file(Manifest(), length);
      if (ListsIndex()) return length;
    }
  }

  void ExpectReported(const rocksdb::Status& status,
                      const std::vector<std::string>& parts) {
    EXPECT_FALSE(status.ok());
    for (const std::string& part : parts) {
      EXPECT_NE(status.ToString().find(part), std::string::npos)
          << part << " in " << status.ToString();
    }
    EXPECT_EQ(status.ToString().find("is lost"), std::string::npos)
        << status.ToString();
    EXPECT_EQ(Tables(), Tables("whole"));
  }
};

TEST_F(DamagedManifestTest, CutBeforeItListsTheIndex) {
  const uintmax_t end = LengthWithIndex();
  for (uintmax_t length = 0; length < end; ++length) {
    SCOPED_TRACE(length);
    Renew();
    fs::resize_file(Manifest(), length);
    ExpectReported(Open(), {"the MANIFEST of " + Dir(), "rocksync repair",
                            Manifest().filename()});
  }
  // Nor does an option let it pass, with which the tables would go.
  replication_.adopt_after_index_loss = true;
  ExpectReported(Open(), {"the MANIFEST of " + Dir()});
}

TEST_F(DamagedManifestTest, CutInTheIndexsTables) {
  const uintmax_t length = LengthWithIndex() + 3;
  Renew();
  fs::resize_file(Manifest(), length);
  ASSERT_TRUE(ListsIndex());
  ExpectReported(Open(), {"the MANIFEST of " + Dir()});
}

// RocksDB would open that, and delete the tables.
TEST_F(DamagedManifestTest, CutWhereRocksDBNoticesNothing) {
  fs::remove_all(Dir());
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key7", "v"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::remove_all(Dir("whole"));
  fs::rename(Dir(), Dir("whole"));
  const uintmax_t length = LengthWithIndex() + 3;
  Renew();
  fs::resize_file(Manifest(), length);
  ExpectReported(Open(), {"the MANIFEST of " + Dir()});
}

TEST_F(DamagedManifestTest, RepairDBIsARemedy) {
  fs::resize_file(Manifest(), LengthWithIndex() - 1);
  ASSERT_ROCKS_OK(rocksdb::RepairDB(Dir(), rocksdb::Options()));
  replication_.open_copy_as_new_replica = true;
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
}

TEST_F(DamagedManifestTest, DetachDeletesNothing) {
  const uintmax_t end = LengthWithIndex();
  for (const uintmax_t length : {end - 1, end + 3}) {
    Renew();
    fs::resize_file(Manifest(), length);
    ExpectReported(ReplicatedDB::Detach({}, Dir()),
                   {"the MANIFEST of " + Dir()});
  }
}

TEST_F(DamagedManifestTest, Missing) {
  fs::remove(Manifest());
  ExpectReported(Open(), {"the MANIFEST of " + Dir(), "rocksync repair",
                          Manifest().filename(), "No such file"});
  ExpectReported(ReplicatedDB::Detach({}, Dir()), {"the MANIFEST of " + Dir()});
}

TEST_F(DamagedManifestTest, FlippedByte) {
  std::string bytes;
  ASSERT_ROCKS_OK(
      rocksdb::ReadFileToString(rocksdb::Env::Default(), Manifest(), &bytes));
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_ROCKS_OK(
      rocksdb::WriteStringToFile(rocksdb::Env::Default(), bytes, Manifest()));
  ExpectReported(Open(),
                 {"the MANIFEST of " + Dir(), "rocksync repair", "checksum"});
}

TEST_F(DamagedManifestTest, CurrentIsDamaged) {
  const std::string manifest = Manifest().filename();
  for (const std::string bytes : {"", "nonsense\n", "MANIFEST"}) {
    Renew();
    ASSERT_ROCKS_OK(rocksdb::WriteStringToFile(rocksdb::Env::Default(), bytes,
                                               Dir() + "/CURRENT"));
    ExpectReported(Open(), {"the file CURRENT of " + Dir(), "line feed"});
    ExpectReported(ReplicatedDB::Detach({}, Dir()),
                   {"the file CURRENT of " + Dir()});
  }
  // What it says to do.
  ASSERT_ROCKS_OK(rocksdb::WriteStringToFile(
      rocksdb::Env::Default(), manifest + "\n", Dir() + "/CURRENT"));
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("key7"), "v");
}

TEST_F(DamagedManifestTest, CurrentIsMissing) {
  const std::string manifest = Manifest().filename();
  fs::remove(Dir() + "/CURRENT");
  ExpectReported(Open(), {Dir() + " has lost its CURRENT file", "line feed"});
  ExpectReported(ReplicatedDB::Detach({}, Dir()),
                 {"has lost its CURRENT file"});
  ASSERT_ROCKS_OK(rocksdb::WriteStringToFile(
      rocksdb::Env::Default(), manifest + "\n", Dir() + "/CURRENT"));
  ASSERT_ROCKS_OK(Open());
}

// A restored backup or a plain database has no marker: RocksDB would begin an
// empty database in its place.
TEST_F(DamagedManifestTest, CurrentIsMissingInABackup) {
  const std::string manifest = Manifest().filename();
  for (const bool without_manifest : {false, true}) {
    for (const bool log_alone : {false, true}) {
      SCOPED_TRACE(without_manifest);
      SCOPED_TRACE(log_alone);
      Renew();
      fs::remove(Dir() + "/CURRENT");
      fs::remove(Dir() + "/ROCKSYNC");
      if (without_manifest) fs::remove(Dir() + "/" + manifest);
      for (const std::string& table : Tables()) {
        if (log_alone) fs::remove(fs::path(Dir()) / table);
      }
      const auto count = [&] {
        return std::distance(fs::directory_iterator(Dir()),
                             fs::directory_iterator());
      };
      const auto files = count();
      for (const bool as_new : {true, false}) {
        replication_.open_copy_as_new_replica = as_new;
        const std::string said = Open().ToString();
        EXPECT_NE(said.find(Dir() + " has lost its CURRENT file"),
                  std::string::npos)
            << said;
        EXPECT_EQ(count(), files);
      }
    }
  }
  // LevelDB's tables RocksDB takes for its own.
  fs::remove_all(Dir());
  fs::create_directory(Dir());
  ASSERT_ROCKS_OK(rocksdb::WriteStringToFile(rocksdb::Env::Default(), "table",
                                             Dir() + "/000007.ldb"));
  EXPECT_FALSE(Open().ok());
  EXPECT_TRUE(fs::exists(Dir() + "/000007.ldb"));
  // A creation that was interrupted goes on.
  fs::remove_all(Dir());
  fs::create_directory(Dir());
  ASSERT_ROCKS_OK(rocksdb::WriteStringToFile(rocksdb::Env::Default(), "begun",
                                             Dir() + "/MANIFEST-000001"));
  ASSERT_ROCKS_OK(Open());
}

TEST_F(DamagedManifestTest, TableIsMissing) {
  for (const std::string& table : Tables()) {
    Renew();
    fs::remove(fs::path(Dir()) / table);
    const rocksdb::Status status = Open();
    EXPECT_TRUE(status.IsCorruption());
    for (const std::string& part :
         {Dir() + " has lost a table, " + Dir() + "/" + table,
          std::string("of db_paths or cf_paths, nothing is lost"),
          std::string("bring the file back")}) {
      EXPECT_NE(status.ToString().find(part), std::string::npos)
          << part << " in " << status.ToString();
    }
  }
}

TEST_F(DamagedManifestTest, DetachOfWhatIsNoDatabase) {
  fs::create_directory(Dir("empty"));
  for (const auto& [name, part] : std::map<std::string, std::string>{
           {"nothere", "nothere is not there"},
           {"empty", "empty is no RocksDB database"}}) {
    const rocksdb::Status status = ReplicatedDB::Detach({}, Dir(name));
    EXPECT_TRUE(status.IsPathNotFound()) << status.ToString();
    EXPECT_NE(status.ToString().find(part), std::string::npos)
        << status.ToString();
    EXPECT_NE(status.ToString().find("give the directory of a database"),
              std::string::npos)
        << status.ToString();
  }
}

}  // namespace
}  // namespace rocksync

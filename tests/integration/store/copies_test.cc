// Copies of a replica, however they came to be: none opens with the identity
// of its original, and a state that was put back is noticed.

#include <filesystem>
#include <memory>
#include <string>

#include "replication/store/format/marker.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

// With RocksDB's DB identity in the MANIFEST, so that it travels with copies
// (`write_dbid_to_manifest`, RocksDB's default from 9.7 on), and without.
class CopiesTest : public StoreTest,
                   public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.write_dbid_to_manifest = GetParam();
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(Put("k", "v"));
    original_ = db_->Identity().replica_id;
  }

  void MakeCheckpoint(const std::string& name) {
    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_ROCKS_OK(rocksdb::Checkpoint::Create(db_.get(), &raw));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    ASSERT_ROCKS_OK(checkpoint->CreateCheckpoint(Dir(name)));
  }
  std::unique_ptr<rocksdb::BackupEngine> Backups() {
    rocksdb::BackupEngine* raw = nullptr;
    EXPECT_ROCKS_OK(rocksdb::BackupEngine::Open(
        rocksdb::Env::Default(), rocksdb::BackupEngineOptions(Dir("backup")),
        &raw));
    return std::unique_ptr<rocksdb::BackupEngine>(raw);
  }

  // In the directory of the original, whose marker stays.
  void PutInPlace(const std::string& name) {
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    for (const auto& file : fs::directory_iterator(Dir())) {
      if (file.path().filename() != kMarkerFileName) fs::remove_all(file);
    }
    for (const auto& file : fs::directory_iterator(Dir(name))) {
      if (file.path().filename() == kMarkerFileName) continue;
      fs::copy(file, fs::path(Dir()) / file.path().filename());
    }
  }

  // Refused by name, and opened as a new replica when told to; then it is a
  // replica like any other.
  void ExpectACopy(const std::string& name) {
    std::unique_ptr<ReplicatedDB> copy;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const rocksdb::Status refused = OpenOther(name, &copy);
      EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
      EXPECT_NE(refused.ToString().find("open_copy_as_new_replica"),
                std::string::npos)
          << refused.ToString();
      EXPECT_NE(refused.ToString().find(Dir(name)), std::string::npos);
    }
    replication_.open_copy_as_new_replica = true;
    ASSERT_ROCKS_OK(OpenOther(name, &copy));
    ASSERT_ROCKS_OK(copy->WaitForIndexBuild(60000));
    const uint64_t renewed = copy->Identity().replica_id;
    EXPECT_NE(renewed, original_);
    EXPECT_EQ(copy->Identity().incarnation, 1u);
    std::string value;
    ASSERT_ROCKS_OK(copy->Get({}, "k", &value));
    EXPECT_EQ(value, "v");
    EXPECT_EQ(copy->GetIndexStats().pairs_quarantined, 0u);
    ASSERT_ROCKS_OK(copy->Close());
    copy.reset();
    EXPECT_TRUE(IndexEqualsData(Dir(name), replication_.cluster_secret));
    replication_.open_copy_as_new_replica = false;
    ASSERT_ROCKS_OK(OpenOther(name, &copy));
    EXPECT_EQ(copy->Identity().replica_id, renewed);
  }

  uint64_t original_ = 0;
};

TEST_P(CopiesTest, ACheckpoint) {
  MakeCheckpoint("copy");
  ExpectACopy("copy");
}

TEST_P(CopiesTest, ABackupRestoredElsewhere) {
  const auto backups = Backups();
  ASSERT_ROCKS_OK(backups->CreateNewBackup(db_.get()));
  ASSERT_ROCKS_OK(backups->RestoreDBFromLatestBackup(Dir("copy"), Dir("copy")));
  ExpectACopy("copy");
}

// It throws away whatever else is in the directory.
TEST_P(CopiesTest, ABackupRestoredInPlace) {
  const auto backups = Backups();
  ASSERT_ROCKS_OK(backups->CreateNewBackup(db_.get()));
  ASSERT_ROCKS_OK(Put("later", "v"));
  db_.reset();
  ASSERT_ROCKS_OK(backups->RestoreDBFromLatestBackup(Dir(), Dir()));
  ExpectACopy("db");
}

// By hand, or by a tool that knows RocksDB's files and leaves others alone.
TEST_P(CopiesTest, ACheckpointPutInPlaceOfTheOriginal) {
  MakeCheckpoint("checkpoint");
  ASSERT_ROCKS_OK(Put("later", "v"));
  PutInPlace("checkpoint");
  ExpectACopy("db");
}

TEST_P(CopiesTest, AnOlderStateOfTheWholeDirectoryPutBack) {
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir(), Dir("old"), fs::copy_options::recursive);
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("later", "v"));
  PutInPlace("old");
  ExpectACopy("db");
}

// Somebody removed the file: it cannot be told from a checkpoint.
TEST_P(CopiesTest, ALostMarker) {
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::remove(Dir() + "/" + kMarkerFileName);
  ExpectACopy("db");
}

TEST_P(CopiesTest, ADamagedMarkerIsNamed) {
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const std::string marker = Dir() + "/" + kMarkerFileName;
  fs::resize_file(marker, fs::file_size(marker) - 1);
  const rocksdb::Status refused = Open();
  EXPECT_TRUE(refused.IsCorruption()) << refused.ToString();
  EXPECT_NE(refused.ToString().find(marker), std::string::npos);
  fs::remove(marker);
  ExpectACopy("db");
}

// Written to after its end by a RocksDB program, it is what it was.
TEST_P(CopiesTest, OpenedByARocksDBProgramItStaysTheSameReplica) {
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  Plain("db", [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "f", "v")); });
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(db_->Identity().replica_id, original_);
}

TEST_P(CopiesTest, AMovedDirectoryStaysTheSameReplica) {
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::rename(Dir(), Dir("moved"));
  ASSERT_ROCKS_OK(Open("moved"));
  EXPECT_EQ(db_->Identity().replica_id, original_);
}

INSTANTIATE_TEST_SUITE_P(DbIdentity, CopiesTest, ::testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "InTheManifest" : "InItsFile";
                         });

}  // namespace
}  // namespace rocksync

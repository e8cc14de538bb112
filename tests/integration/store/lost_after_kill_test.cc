// A replica that was killed, and lost its log, or a part of it, before it was
// opened again: data and index are of different moments.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "replication/store/format/marker.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table_properties.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/file_content.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LostAfterKillTest : public StoreTest {
 protected:
  static constexpr int kKeys = 3000;
  static std::string Key(int i) { return "key" + std::to_string(i); }

  // Of the deletes none is in the data's tables, and many are in the index's,
  // which are written sooner.
  void KillAfterDeletes() {
    replication_.index_write_buffer_bytes = 64 << 10;
    ASSERT_ROCKS_OK(Open());
    original_ = db_->Identity().replica_id;
    for (int i = 0; i < kKeys; ++i) ASSERT_ROCKS_OK(Put(Key(i), "value"));
    ASSERT_ROCKS_OK(db_->Flush({}));
    const size_t before = IndexTables();
    for (int i = 0; i < kKeys; ++i) ASSERT_ROCKS_OK(db_->Delete({}, Key(i)));
    for (int i = 0; IndexTables() == before && i < 1000; ++i) usleep(10'000);
    ASSERT_NE(IndexTables(), before);
    CopyAsKilled("db", "killed");
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    fs::remove_all(Dir());
    fs::rename(Dir("killed"), Dir());
  }
  size_t IndexTables() {
    std::vector<rocksdb::LiveFileMetaData> live;
    db_->GetLiveFilesMetaData(&live);
    size_t bytes = 0;
    for (const auto& file : live) {
      if (file.column_family_name == kIndexFamilyName) bytes += file.size;
    }
    return bytes;
  }
  std::vector<fs::path> Logs() const {
    std::vector<fs::path> logs;
    for (const auto& file : fs::directory_iterator(Dir())) {
      if (file.path().extension() == ".log") logs.push_back(file.path());
    }
    std::sort(logs.begin(), logs.end());
    return logs;
  }
  // What the index says was deleted is; it does not know of the rest.
  void ExpectNoDeletedPairShows() {
    replication_.open_copy_as_new_replica = true;
    ASSERT_ROCKS_OK(Open());
    EXPECT_NE(db_->Identity().replica_id, original_);
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    Total();
    const uint64_t tombstones = db_->GetTombstoneGcStats().tombstones;
    EXPECT_GT(tombstones, 0u);
    EXPECT_EQ(db_->GetIndexStats().quarantined_now, 0u);
    uint64_t shown = 0;
    for (int i = 0; i < kKeys; ++i) shown += Get(Key(i)) == "-" ? 0 : 1;
    EXPECT_EQ(shown, kKeys - tombstones);
    CloseAndCheck();
  }

  uint64_t original_ = 0;
};

TEST_F(LostAfterKillTest, AllOfTheLog) {
  KillAfterDeletes();
  for (const fs::path& log : Logs()) fs::remove(log);
  EXPECT_THAT(Open().ToString(), HasSubstr("has lost its log"));
  ExpectNoDeletedPairShows();
}

// As of a backup without logs.
TEST_F(LostAfterKillTest, TheLogAndTheMarker) {
  KillAfterDeletes();
  for (const fs::path& log : Logs()) fs::remove(log);
  fs::remove(Dir() + "/" + kMarkerFileName);
  EXPECT_THAT(Open().ToString(), HasSubstr("is a copy of another replica"));
  ExpectNoDeletedPairShows();
}

// The first of several, with the records of the last opening.
TEST_F(LostAfterKillTest, TheFirstLogIsMissedBeforeTheOthersAreReplayed) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Close());
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  for (int i = 0; i < 3; ++i) {
    ASSERT_ROCKS_OK(Put(Key(i), "value"));
    ASSERT_ROCKS_OK(db_->Put({}, other, Key(i), "value"));
    ASSERT_ROCKS_OK(db_->Flush({}, other));
  }
  ASSERT_ROCKS_OK(Put("last", "value"));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
  CopyAsKilled("db", "killed");
  db_.reset();
  fs::remove_all(Dir());
  fs::rename(Dir("killed"), Dir());
  const std::vector<fs::path> logs = Logs();
  ASSERT_GT(logs.size(), 2u);
  fs::rename(logs.front(), Dir("first"));
  const auto before = ContentOfFiles(Dir());
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {"default", {}}, {"other", {}}};
  const auto open = [&] {
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ReplicatedDB* raw = nullptr;
    db_.reset();
    const rocksdb::Status status = ReplicatedDB::Open(
        options_, replication_, Dir(), families, &handles, &raw);
    db_.reset(raw);
    for (auto* handle : handles) {
      EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    return status;
  };
  EXPECT_THAT(open().ToString(), HasSubstr("or its log is lost"));
  EXPECT_TRUE(ContentOfFiles(Dir()) == before);
  EXPECT_THAT(ReplicatedDB::Detach(options_, Dir()).ToString(),
              HasSubstr("or its log is lost"));
  EXPECT_TRUE(ContentOfFiles(Dir()) == before);
  // It is brought back.
  fs::rename(Dir("first"), logs.front());
  ASSERT_ROCKS_OK(open());
  EXPECT_EQ(Get("last"), "value");
  EXPECT_EQ(Get(Key(0)), "value");
}

// RocksDB ends the process, if it has assertions, where a MANIFEST that tracks
// the log is opened for reading with the option off.
TEST_F(LostAfterKillTest, NothingIsWithTheLogTrackedOnceAndThenNot) {
  options_.track_and_verify_wals_in_manifest = true;
  ASSERT_ROCKS_OK(Open());
  rocksdb::WriteOptions synced;
  synced.sync = true;
  ASSERT_ROCKS_OK(db_->Put(synced, "key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Put(synced, "last", "value"));
  ASSERT_ROCKS_OK(db_->SyncWAL());
  CopyAsKilled("db", "killed");
  CopyAsKilled("db", "again");
  options_.track_and_verify_wals_in_manifest = false;
  ASSERT_ROCKS_OK(Open("killed"));
  EXPECT_EQ(Get("last"), "value");
  CloseAndCheck(nullptr, "killed");
  options_.track_and_verify_wals_in_manifest = true;
  ASSERT_ROCKS_OK(Open("again"));
  EXPECT_EQ(Get("last"), "value");
}

// Commands read the rest of the index, as long as nobody has written since.
TEST_F(LostAfterKillTest, ADamagedIndexIsRefusedBeforeTheLogIsReplayed) {
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < kKeys; ++i) ASSERT_ROCKS_OK(Put(Key(i), "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  int refused = 0;
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (file.path().extension() != ".sst") continue;
    rocksdb::SstFileReader reader{rocksdb::Options()};
    ASSERT_ROCKS_OK(reader.Open(file.path()));
    if (reader.GetTableProperties()->column_family_name != kIndexFamilyName) {
      continue;
    }
    std::fstream bytes(file.path(),
                       std::ios::in | std::ios::out | std::ios::binary);
    for (const int at : {10, 100, 1000}) {
      bytes.seekg(at);
      const int was = bytes.get();
      bytes.seekp(at);
      bytes.put(static_cast<char>(was ^ 1));
      bytes.flush();
      const auto before = ContentOfFiles(Dir());
      const rocksdb::Status status = Open();
      if (!status.ok()) {
        ++refused;
        EXPECT_TRUE(status.IsCorruption()) << status.ToString();
        EXPECT_TRUE(ContentOfFiles(Dir()) == before)
            << file.path() << ' ' << at;
      }
      db_.reset();
      bytes.seekp(at);
      bytes.put(static_cast<char>(was));
      bytes.flush();
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace rocksync

// A block of a table with one flipped bit: a scrub ends, says what it passed
// over, and compares all the rest.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/scrub.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/flip_bit.h"

namespace rocksync {
namespace {

constexpr int kPairs = 2000;
// Of a pass over as many, with what is tried again.
constexpr int kMaxSteps = 200;

// `where`: of the file's data, 0 to 1.
void DamageAt(const std::string& path, double where) {
  // Behind it is metadata.
  const auto size =
      static_cast<double>(std::filesystem::file_size(path)) * 9 / 10;
  FlipABit(path, static_cast<std::streamoff>(size * where));
}

class DamagedBlocksTest : public ReplicationTest {
 protected:
  void SetUp() override {
    TestReplica::Setting setting = SettingOf("a");
    setting.adjust = [](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->compression = rocksdb::kNoCompression;
      // One that meets the block stops all writes.
      options->disable_auto_compactions = true;
    };
    replica_ = std::make_unique<TestReplica>(setting);
    ASSERT_TRUE(replica_->Open()) << replica_->open_status().ToString();
    for (int i = 0; i < kPairs; ++i) {
      replica_->Put(Numbered("k", i), std::string(100, 'v'));
    }
    // One table each, of which no block was read yet.
    ASSERT_TRUE(IsOk(Inner()->CompactRange({}, nullptr, nullptr)));
    ASSERT_TRUE(IsOk(Inner()->CompactRange({}, StoreOf()->reader().index(),
                                           nullptr, nullptr)));
  }
  void TearDown() override { scrub_.reset(); }

  IndexedDB* StoreOf() { return StoreAccess::IndexedOf(replica_->db()); }
  rocksdb::DB* Inner() { return StoreOf()->db(); }

  // In the table of the family.
  void Damage(const std::string& family, const std::vector<double>& places) {
    std::vector<rocksdb::LiveFileMetaData> files;
    Inner()->GetLiveFilesMetaData(&files);
    std::vector<std::string> tables;
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (file.column_family_name == family) {
        tables.push_back(file.db_path + file.name);
      }
    }
    ASSERT_EQ(tables.size(), 1u);
    for (const double place : places) DamageAt(tables[0], place);
  }

  // One pass, without the waits between tries.
  void Pass() {
    if (scrub_ == nullptr) {
      scrub_ = StoreAccess::NewScrub(replica_->db());
      ASSERT_TRUE(IsOk(scrub_->Load()));
    }
    uint64_t bytes = 0;
    bool finished = false;
    for (int i = 0; i < kMaxSteps && !finished; ++i) {
      scrub_->Step(&bytes, &finished).PermitUncheckedError();
    }
    ASSERT_TRUE(finished) << "not after " << kMaxSteps << " steps";
  }

  std::unique_ptr<TestReplica> replica_;
  std::unique_ptr<Scrub> scrub_;
};

TEST_F(DamagedBlocksTest, AScrubPassesOverABlockOfTheIndex) {
  Damage(kIndexFamilyName, {0.5});
  Pass();
  const rocksdb::Status status = scrub_->pass_status();
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "1 range of keys;"));
  EXPECT_TRUE(Mentions(status, "the index behind"));
  // The keys whose entries are in the block, and the block.
  EXPECT_GT(scrub_->progress().unreadable, 2u);
  EXPECT_LT(scrub_->progress().unreadable, 200u);
  EXPECT_EQ(scrub_->progress().pairs + scrub_->progress().unreadable - 1,
            uint64_t{kPairs});
  EXPECT_EQ(scrub_->progress().corruption_found, 0u);
}

// Of the records that no key has, such as digests that the last close wrote.
TEST_F(DamagedBlocksTest, AScrubReadsWhatOfTheIndexIsNoEntry) {
  const std::string old(100'000, 'd');
  for (const char* name : {"digests/a", "digests/b"}) {
    ASSERT_TRUE(IsOk(
        Inner()->Put({}, StoreOf()->reader().index(), MetaKey(name), old)));
  }
  ASSERT_TRUE(IsOk(Inner()->CompactRange({}, StoreOf()->reader().index(),
                                         nullptr, nullptr)));
  Damage(kIndexFamilyName, {0.2});
  Pass();
  EXPECT_TRUE(scrub_->pass_status().IsIncomplete());
  EXPECT_TRUE(Mentions(scrub_->pass_status(), "the index before its first"));
  EXPECT_EQ(scrub_->progress().pairs, uint64_t{kPairs});
}

TEST_F(DamagedBlocksTest, AScrubFindsWhatStandsBehindABlockOfTheIndex) {
  // Entries that a look at the data does not find: pairs that were lost.
  for (int i = 0; i < kPairs; ++i) {
    ASSERT_TRUE(IsOk(Inner()->Delete({}, Numbered("k", i))));
  }
  Damage(kIndexFamilyName, {0.5});
  Pass();
  const uint64_t found = scrub_->progress().corruption_found;
  EXPECT_GT(found, uint64_t{kPairs} - 200);
  EXPECT_LT(found, uint64_t{kPairs});
}

TEST_F(DamagedBlocksTest, AScrubPassesOverSeveralBlocksOfTheIndex) {
  Damage(kIndexFamilyName, {0.3, 0.5, 0.6, 0.9});
  Pass();
  EXPECT_TRUE(Mentions(scrub_->pass_status(), "4 ranges of keys"));
}

TEST_F(DamagedBlocksTest, AScrubGoesOnBehindABlockOfTheData) {
  Damage("default", {0.5});
  Pass();
  const rocksdb::Status status = scrub_->pass_status();
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "did not compare it: 1 range of keys;"));
  EXPECT_TRUE(Mentions(status, "family default behind 0x6b"));
  EXPECT_TRUE(Mentions(status, "replace this replica"));
  const Scrub::Progress progress = scrub_->progress();
  EXPECT_EQ(progress.unreadable, 1u);
  EXPECT_GT(progress.corruption_found, 0u) << "the pairs in the block";
  EXPECT_EQ(progress.pairs + progress.corruption_found, uint64_t{kPairs});
}

// Behind it a pair without an entry, which only a look at the data finds.
TEST_F(DamagedBlocksTest, AScrubFindsALostEntryBehindABlockOfTheData) {
  Damage("default", {0.1, 0.5});
  IndexedDB* const store = StoreOf();
  const FamiliesInUse now = store->families();
  std::string entry;
  AppendIndexKey(&entry, {store->reader().hasher().Position("default", "k999"),
                          now->families()[0].id, "k999"});
  ASSERT_TRUE(IsOk(store->db()->Delete({}, store->reader().index(), entry)));
  Pass();
  std::string bytes;
  EXPECT_TRUE(
      IsOk(store->db()->Get({}, store->reader().index(), entry, &bytes)));
}

// What came in between, as from a peer, is compared by way of the index.
TEST_F(DamagedBlocksTest, AScrubComparesWhatWasWrittenOverABlock) {
  Damage("default", {0.5});
  const std::string anew(100, 'w');
  for (int i = 0; i < kPairs; ++i) replica_->Put(Numbered("k", i), anew);
  Pass();
  EXPECT_EQ(scrub_->progress().pairs, uint64_t{kPairs});
  EXPECT_EQ(scrub_->progress().corruption_found, 0u);
  EXPECT_EQ(scrub_->progress().unreadable, 1u);
}

// The tables of a family of an offline database.
std::vector<std::string> TablesOf(const std::string& directory,
                                  const std::string& family) {
  std::vector<std::string> tables;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().extension() != ".sst") continue;
    rocksdb::SstFileReader reader{rocksdb::Options()};
    if (reader.Open(file.path()).ok() &&
        reader.GetTableProperties()->column_family_name == family) {
      tables.push_back(file.path());
    }
  }
  return tables;
}

TEST_F(DamagedBlocksTest, OpenNamesTheIndexAndTheRemedy) {
  replica_->Close();
  const std::string& directory = replica_->setting().directory;
  const auto tables = TablesOf(directory, kIndexFamilyName);
  ASSERT_FALSE(tables.empty());
  for (const std::string& table : tables) DamageAt(table, 0);
  EXPECT_FALSE(replica_->Open());
  const rocksdb::Status status = replica_->open_status();
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(Mentions(status, "rocksync: the index of " + directory));
  EXPECT_TRUE(Mentions(status, "does not read"));
  EXPECT_TRUE(Mentions(status, "`rocksync rescue`"));
  EXPECT_TRUE(Mentions(status, "`rocksync detach`"));
  EXPECT_TRUE(Mentions(status, "checksum mismatch")) << "what RocksDB says";
  // And the remedy is one.
  EXPECT_TRUE(IsOk(ReplicatedDB::Detach({}, directory, {})));
}

// After a compaction has met the block RocksDB takes no writes.
TEST_F(DamagedBlocksTest, CloseNamesTheIndexAndTheRemedy) {
  Damage(kIndexFamilyName, {0.5});
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  EXPECT_FALSE(
      Inner()
          ->CompactRange(all, StoreOf()->reader().index(), nullptr, nullptr)
          .ok());
  const rocksdb::Status status = replica_->db()->Close();
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(
      Mentions(status, "the index of " + replica_->setting().directory));
  EXPECT_TRUE(Mentions(status, "`rocksync rescue`"));
}

TEST_F(DamagedBlocksTest, OpenNamesTheDatabaseIfRocksDBNamesNoTable) {
  replica_->Close();
  const std::string& directory = replica_->setting().directory;
  const auto tables = TablesOf(directory, "default");
  ASSERT_FALSE(tables.empty());
  // Its footer.
  std::filesystem::resize_file(tables[0],
                               std::filesystem::file_size(tables[0]) - 1);
  EXPECT_FALSE(replica_->Open());
  const rocksdb::Status status = replica_->open_status();
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "rocksync: a file of " + directory));
  EXPECT_TRUE(Mentions(status, "by a new, empty one"));
}

}  // namespace
}  // namespace rocksync

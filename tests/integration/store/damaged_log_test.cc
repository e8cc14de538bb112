// A replica that was killed, and whose log is damaged: RocksDB goes on from
// what is before the damage, and what it dropped of the rest is counted and
// said.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "replication/store/format/dropped_batches.h"
#include "replication/store/write/indexed_db.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/file_content.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class DamagedLogTest : public StoreTest {
 protected:
  static constexpr int kKeys = 400;
  static std::string Key(int i) { return "key" + std::to_string(i); }

  // So many puts, each of which is a batch; then the process ends.
  void PutAndKill(size_t value_bytes = 100) {
    ASSERT_ROCKS_OK(Open());
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKS_OK(Put(Key(i), std::string(value_bytes, 'v')));
    }
    Kill();
  }
  void Kill() {
    CopyAsKilled("db", "killed");
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    fs::remove_all(Dir());
    fs::rename(Dir("killed"), Dir());
  }
  std::vector<fs::path> Logs() const {
    std::vector<fs::path> logs;
    for (const auto& file : fs::directory_iterator(Dir())) {
      if (file.path().extension() == ".log") logs.push_back(file.path());
    }
    std::sort(logs.begin(), logs.end());
    return logs;
  }
  static void Damage(const fs::path& log, uint64_t at) {
    std::fstream bytes(log, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes << "0123456789";
    ASSERT_TRUE(bytes.good());
  }
  // Opens it, and tells how many batches were dropped; so does the log, if it
  // was this opening.
  enum class Opening { kThis, kEarlier };
  uint64_t Dropped(Opening opening = Opening::kThis) {
    const rocksdb::Status status = Open();
    EXPECT_ROCKS_OK(status);
    if (!status.ok()) return 0;
    const uint64_t dropped = db_->GetDiskSpaceStats().log_batches_dropped;
    if (dropped == 0 || opening == Opening::kEarlier) {
      EXPECT_THAT(InfoLog(), Not(HasSubstr("is damaged")));
    } else {
      EXPECT_THAT(InfoLog(),
                  HasSubstr("rocksync: the log of " + Dir() + " is damaged: " +
                            std::to_string(dropped) + " batches"));
    }
    return dropped;
  }
  // That RocksDB did not replay.
  uint64_t LostKeys() {
    uint64_t lost = 0;
    for (int i = 0; i < kKeys; ++i) lost += Get(Key(i)) == "-" ? 1 : 0;
    return lost;
  }
  // One damaged batch, and those behind it; the lease is written now and then.
  void ExpectDroppedAreLost(uint64_t dropped) {
    const uint64_t lost = LostKeys();
    EXPECT_GT(dropped, 0u);
    EXPECT_GT(lost, 0u);
    EXPECT_LT(lost, uint64_t{kKeys});
    EXPECT_GE(dropped + 1, lost);
    EXPECT_LE(dropped, lost + 5);
  }
};

TEST_F(DamagedLogTest, BatchesBehindTheDamageAreCounted) {
  for (const size_t value_bytes : {10, 1000, 40000}) {
    SCOPED_TRACE(value_bytes);
    PutAndKill(value_bytes);
    ASSERT_EQ(Logs().size(), 1u);
    Damage(Logs().front(), fs::file_size(Logs().front()) / 2);
    ExpectDroppedAreLost(Dropped());
    CloseAndCheck();
    ForgetDroppedBatches(rocksdb::Env::Default(), Dir()).PermitUncheckedError();
    EXPECT_EQ(Dropped(), 0u) << "what was replayed is whole";
    db_.reset();
    fs::remove_all(Dir());
  }
}

// Monitoring has to see it, whatever becomes of the opening that dropped them.
TEST_F(DamagedLogTest, AreShownUntilACloseAnHourLater) {
  WrongClock clock;
  options_.env = &clock;
  PutAndKill();
  Damage(Logs().front(), fs::file_size(Logs().front()) / 2);
  const uint64_t dropped = Dropped();
  ASSERT_GT(dropped, 0u);
  Kill();
  EXPECT_EQ(Dropped(Opening::kEarlier), dropped);
  ASSERT_ROCKS_OK(db_->Close());
  EXPECT_EQ(Dropped(Opening::kEarlier), dropped) << "it was open for a moment";

  // Those of a second time are added.
  Kill();
  const uint64_t before = fs::file_size(Logs().back());
  ASSERT_EQ(Dropped(Opening::kEarlier), dropped);
  for (int i = 0; i < kKeys; ++i) ASSERT_ROCKS_OK(Put(Key(i), "again"));
  Kill();
  const fs::path log = Logs().back();
  Damage(log, before + (fs::file_size(log) - before) / 2);
  ASSERT_ROCKS_OK(Open());
  EXPECT_GT(db_->GetDiskSpaceStats().log_batches_dropped, dropped);

  clock.ahead_ms = 3'600'000;
  ASSERT_ROCKS_OK(db_->Close());
  EXPECT_EQ(Dropped(), 0u);
  EXPECT_FALSE(fs::exists(Dir() + "/" + kDroppedBatchesFileName));
  options_.env = rocksdb::Env::Default();
  db_.reset();
}

// An opening that ended before RocksDB removed the log had noted it already; or
// somebody put a sound log in its place.
TEST_F(DamagedLogTest, ALogIsCountedOnce) {
  PutAndKill();
  fs::copy(Dir(), Dir("sound"));
  for (const bool damaged : {false, true}) {
    SCOPED_TRACE(damaged);
    db_.reset();
    fs::remove_all(Dir());
    fs::copy(Dir("sound"), Dir());
    const fs::path log = Logs().front();
    if (damaged) Damage(log, fs::file_size(log) / 2);
    DroppedBatches earlier = {{std::stoull(log.stem()), 1'000'000}};
    ASSERT_ROCKS_OK(
        NoteDroppedBatches(rocksdb::Env::Default(), Dir(), &earlier));
    const uint64_t dropped = Dropped();
    EXPECT_EQ(dropped > 0, damaged);
    EXPECT_LT(dropped, 1'000u);
  }
}

TEST_F(DamagedLogTest, WhatAKillOrALossOfPowerLeavesIsNone) {
  PutAndKill();
  fs::copy(Dir(), Dir("sound"));
  EXPECT_EQ(Dropped(), 0u);
  EXPECT_EQ(LostKeys(), 0u);
  for (const int cut : {1, 7, 100, 30'000}) {
    SCOPED_TRACE(cut);
    db_.reset();
    fs::remove_all(Dir());
    fs::copy(Dir("sound"), Dir());
    const fs::path log = Logs().front();
    fs::resize_file(log, fs::file_size(log) - cut);
    if (cut == 7) fs::resize_file(log, fs::file_size(log) + 100'000);
    EXPECT_EQ(Dropped(), 0u);
    EXPECT_GT(LostKeys(), 0u);
  }
  db_.reset();
  fs::remove_all(Dir());
  fs::copy(Dir("sound"), Dir());
  Damage(Logs().front(), fs::file_size(Logs().front()) - 15);
  EXPECT_EQ(Dropped(), 0u) << "the last batch alone";
  EXPECT_EQ(LostKeys(), 1u);
}

TEST_F(DamagedLogTest, OfACleanCloseIsNone) {
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < kKeys; ++i) ASSERT_ROCKS_OK(Put(Key(i), "value"));
  ASSERT_ROCKS_OK(db_->Close());
  EXPECT_EQ(Dropped(), 0u);
  EXPECT_EQ(LostKeys(), 0u);
}

// What later logs have is dropped, too.
TEST_F(DamagedLogTest, SeveralLogs) {
  // A log for each memtable, of which none is flushed alone.
  options_.write_buffer_size = 64 << 10;
  options_.min_write_buffer_number_to_merge = 8;
  options_.max_write_buffer_number = 16;
  PutAndKill(/*value_bytes=*/700);
  const std::vector<fs::path> logs = Logs();
  ASSERT_GT(logs.size(), 2u);
  Damage(logs[1], fs::file_size(logs[1]) / 2);
  ExpectDroppedAreLost(Dropped());
}

// Old records follow in a file that is used again.
TEST_F(DamagedLogTest, LogsThatAreUsedAgain) {
  options_.recycle_log_file_num = 2;
  for (const bool damaged : {false, true}) {
    SCOPED_TRACE(damaged);
    ASSERT_ROCKS_OK(Open());
    for (int flush = 0; flush < 6; ++flush) {
      for (int i = 0; i < kKeys; ++i) ASSERT_ROCKS_OK(Put(Key(i), "old"));
      ASSERT_ROCKS_OK(db_->Flush({}));
      IndexedDB* const indexed = StoreAccess::IndexedOf(db_.get());
      ASSERT_ROCKS_OK(indexed->db()->Flush({}, indexed->reader().index()));
    }
    for (int i = 0; i < kKeys / 2; ++i) ASSERT_ROCKS_OK(Put(Key(i), "new"));
    Kill();
    const fs::path log = Logs().back();
    if (damaged) Damage(log, 6000);
    const uint64_t dropped = Dropped();
    EXPECT_EQ(dropped > 0, damaged);
    EXPECT_EQ(Get(Key(kKeys / 2 - 1)), damaged ? "old" : "new");
  }
}

TEST_F(DamagedLogTest, WhereBatchesAreCompressed) {
  options_.wal_compression = rocksdb::kZSTD;
  PutAndKill();
  fs::copy(Dir(), Dir("sound"));
  EXPECT_EQ(Dropped(), 0u);
  db_.reset();
  fs::remove_all(Dir());
  fs::rename(Dir("sound"), Dir());
  Damage(Logs().front(), fs::file_size(Logs().front()) / 2);
  ExpectDroppedAreLost(Dropped());
}

// An application that chose to be refused is.
TEST_F(DamagedLogTest, OtherModesOfRecoveryKeepTheirMeaning) {
  PutAndKill();
  Damage(Logs().front(), fs::file_size(Logs().front()) / 2);
  const auto before = ContentOfFiles(Dir());
  using rocksdb::WALRecoveryMode;
  for (const auto mode : {WALRecoveryMode::kTolerateCorruptedTailRecords,
                          WALRecoveryMode::kAbsoluteConsistency}) {
    options_.wal_recovery_mode = mode;
    EXPECT_TRUE(Open().IsCorruption());
    EXPECT_TRUE(ContentOfFiles(Dir()) == before);
  }
}

}  // namespace
}  // namespace rocksync

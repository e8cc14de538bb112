#include "replication/store/offline/needed_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rocksdb/write_batch.h"

namespace rocksync {
namespace {

using rocksdb::WriteBatch;
using Processing = rocksdb::WalFilter::WalProcessingOption;

constexpr auto kReplayed = Processing::kContinueProcessing;
constexpr auto kPassedOver = Processing::kIgnoreCurrentRecord;

// As it is in a log: with the sequence number of its first record.
WriteBatch At(uint64_t sequence,
              const std::function<void(WriteBatch*)>& write) {
  WriteBatch batch;
  write(&batch);
  std::string bytes = batch.Data();
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(sequence >> (8 * i));
  }
  return WriteBatch(bytes);
}

WriteBatch PutsAt(uint64_t sequence, int puts) {
  return At(sequence, [puts](WriteBatch* batch) {
    for (int i = 0; i < puts; ++i) (void)batch->Put(std::to_string(i), "v");
  });
}

class NeededLogTest : public ::testing::Test {
 protected:
  Processing Read(NeededLog* log, const WriteBatch& batch) {
    WriteBatch changed;
    bool is_changed = false;
    const Processing what =
        log->LogRecordFound(8, "8.log", batch, &changed, &is_changed);
    EXPECT_FALSE(is_changed);
    return what;
  }

  const std::vector<rocksdb::ColumnFamilyDescriptor> families_ = {
      {"default", rocksdb::ColumnFamilyOptions()}};
};

TEST_F(NeededLogTest, PassesOverWhatTablesHave) {
  NeededLog log({{0, 100}}, families_);
  EXPECT_EQ(Read(&log, PutsAt(91, 10)), kPassedOver);
  EXPECT_EQ(Read(&log, PutsAt(92, 10)), kReplayed) << "its last is 101";
  EXPECT_EQ(Read(&log, PutsAt(101, 1)), kReplayed);
  EXPECT_EQ(log.batches(), 3u);
}

TEST_F(NeededLogTest, AFamilyWithoutTablesHasNothing) {
  NeededLog log({}, families_);
  EXPECT_EQ(Read(&log, PutsAt(1, 1)), kReplayed);
}

TEST_F(NeededLogTest, EachKindOfRecordCounts) {
  const std::vector<std::function<void(WriteBatch*)>> records = {
      [](WriteBatch* batch) { (void)batch->Put("k", "v"); },
      [](WriteBatch* batch) { (void)batch->Delete("k"); },
      [](WriteBatch* batch) { (void)batch->SingleDelete("k"); },
      [](WriteBatch* batch) { (void)batch->DeleteRange("a", "b"); },
      [](WriteBatch* batch) { (void)batch->Merge("k", "v"); },
  };
  for (size_t i = 0; i < records.size(); ++i) {
    NeededLog has({{0, 100}}, families_);
    EXPECT_EQ(Read(&has, At(50, records[i])), kPassedOver) << i;
    NeededLog lacks({{0, 49}}, families_);
    EXPECT_EQ(Read(&lacks, At(50, records[i])), kReplayed) << i;
  }
}

TEST_F(NeededLogTest, WhatTellsNothingIsReplayed) {
  NeededLog log({{0, 100}}, families_);
  EXPECT_EQ(Read(&log, WriteBatch()), kReplayed);
  EXPECT_EQ(Read(&log, At(50,
                          [](WriteBatch* batch) {
                            (void)batch->PutLogData("no record");
                          })),
            kReplayed);
}

// RocksDB would take such a record for the end of the log; in tables it does no
// harm.
TEST_F(NeededLogTest, AMergeCountsOnlyWhereItIsNeeded) {
  const WriteBatch merge =
      At(50, [](WriteBatch* batch) { (void)batch->Merge("k", "v"); });
  for (const bool needed : {false, true}) {
    NeededLog log({{0, needed ? 49u : 50u}}, families_);
    log.ColumnFamilyLogNumberMap({{0, 1}}, {{"default", 0}});
    Read(&log, merge);
    EXPECT_EQ(
        log.Check(rocksdb::Env::Default(), "/nowhere").IsInvalidArgument(),
        needed);
  }
}

}  // namespace
}  // namespace rocksync

#include "replication/store/format/dropped_batches.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rocksync {
namespace {

class DroppedBatchesTest : public testing::Test {
 protected:
  DroppedBatchesTest() {
    EXPECT_TRUE(env_->CreateDirIfMissing(kDirectory).ok());
  }
  void Write(const std::string& text) {
    ASSERT_TRUE(rocksdb::WriteStringToFile(
                    env_.get(), text,
                    std::string(kDirectory) + "/" + kDroppedBatchesFileName)
                    .ok());
  }
  DroppedBatches Read(DroppedBatches known = {}) {
    EXPECT_TRUE(ReadDroppedBatches(env_.get(), kDirectory, &known).ok());
    return known;
  }

  static constexpr char kDirectory[] = "/db";
  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
};

TEST_F(DroppedBatchesTest, AreAddedUpLogByLog) {
  EXPECT_EQ(TotalOf(Read()), 0u);
  DroppedBatches first = {{4, 10}, {7, 1}};
  ASSERT_TRUE(NoteDroppedBatches(env_.get(), kDirectory, &first).ok());
  DroppedBatches second = {{7, 5}, {9, 2}};
  ASSERT_TRUE(NoteDroppedBatches(env_.get(), kDirectory, &second).ok());
  const DroppedBatches all = {{4, 10}, {7, 5}, {9, 2}};
  EXPECT_EQ(second, all);
  EXPECT_EQ(Read(), all);
  EXPECT_EQ(TotalOf(all), 17u);
  // A log that turns out to be sound.
  DroppedBatches third = {{4, 0}};
  ASSERT_TRUE(NoteDroppedBatches(env_.get(), kDirectory, &third).ok());
  EXPECT_EQ(Read(), (DroppedBatches{{7, 5}, {9, 2}}));
}

TEST_F(DroppedBatchesTest, WhatIsKnownCounts) {
  Write("4 10\n7 1\n");
  EXPECT_EQ(Read({{4, 0}}), (DroppedBatches{{4, 0}, {7, 1}}));
}

TEST_F(DroppedBatchesTest, LinesThatDoNotReadAreLeftOut) {
  Write("4 10\nx 3\n\n5\n6 1 \n8 99999999999999999999\n9 2\n10 3");
  EXPECT_EQ(Read(), (DroppedBatches{{4, 10}, {9, 2}}));
}

TEST_F(DroppedBatchesTest, TheFileStaysSmall) {
  DroppedBatches many;
  for (uint64_t log = 1; log <= 2 * kMaxDroppedLogs; ++log) many[log] = 1;
  ASSERT_TRUE(NoteDroppedBatches(env_.get(), kDirectory, &many).ok());
  EXPECT_EQ(Read().size(), kMaxDroppedLogs);
  EXPECT_EQ(Read().rbegin()->first, 2 * kMaxDroppedLogs);
}

TEST_F(DroppedBatchesTest, AreForgotten) {
  EXPECT_TRUE(ForgetDroppedBatches(env_.get(), kDirectory).ok());
  Write("4 10\n");
  EXPECT_TRUE(ForgetDroppedBatches(env_.get(), kDirectory).ok());
  EXPECT_TRUE(Read().empty());
}

}  // namespace
}  // namespace rocksync

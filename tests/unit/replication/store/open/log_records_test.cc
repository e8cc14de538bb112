// Counting the sound batches of a log, on literal records.

#include "replication/store/open/log_records.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

constexpr size_t kBlockBytes = 32768;

// As RocksDB writes them; their checksums are of its own crc32c.
const std::string kAll(
    "\x0b\xb9\x57\x58\x05\x00\x01"
    "hello",
    12);
const std::string kFirst(
    "\x22\x92\xe3\xc4\x05\x00\x02"
    "hello",
    12);
const std::string kMiddle(
    "\x02\x64\xd6\x96\x05\x00\x03"
    "hello",
    12);
const std::string kLast(
    "\x91\x60\x8b\xaf\x05\x00\x04"
    "hello",
    12);
const std::string kAllOf7(
    "\xe3\x11\xd7\x9c\x05\x00\x05\x07\x00\x00\x00"
    "hello",
    16);
const std::string kAllOf6(
    "\x4e\xba\x48\xf9\x05\x00\x05\x06\x00\x00\x00"
    "hello",
    16);
const std::string kCompression(
    "\x17\xf9\x6c\x28\x05\x00\x09"
    "hello",
    12);

class CountSoundBatchesTest : public testing::Test {
 protected:
  SoundBatches Count(const std::string& bytes, uint64_t known = 0) {
    const std::string path = root_ / "000007.log";
    std::ofstream(path, std::ios::binary) << bytes;
    SoundBatches batches;
    EXPECT_TRUE(
        CountSoundBatches(rocksdb::Env::Default(), path, 7, known, &batches)
            .ok());
    return batches;
  }

  const TemporaryDirectory root_;
};

TEST_F(CountSoundBatchesTest, ReadsPastADamagedRecord) {
  EXPECT_EQ(Count("").count, 0u);
  EXPECT_EQ(Count(kAll + kAll).count, 2u);
  EXPECT_FALSE(Count(kAll + kAll).behind_damage);
  // A byte of the checksum, the length, the type and the payload.
  for (const size_t at : {0, 4, 5, 6, 8}) {
    SCOPED_TRACE(at);
    std::string damaged = kAll;
    damaged[at] ^= 1;
    EXPECT_EQ(Count(kAll + damaged + kAll).count, 2u);
    EXPECT_TRUE(Count(kAll + damaged + kAll).behind_damage);
    EXPECT_EQ(Count(kAll + damaged).count, 1u);
    EXPECT_FALSE(Count(kAll + damaged).behind_damage);
  }
}

TEST_F(CountSoundBatchesTest, TheEndMayBeCutOrNotWritten) {
  for (size_t bytes = 0; bytes < kAll.size(); ++bytes) {
    const SoundBatches batches = Count(kAll + kAll.substr(0, bytes));
    EXPECT_EQ(batches.count, 1u) << bytes;
    EXPECT_FALSE(batches.behind_damage) << bytes;
  }
  const std::string zeros(2 * kBlockBytes, '\0');
  EXPECT_EQ(Count(kAll + zeros).count, 1u);
  EXPECT_FALSE(Count(kAll + zeros).behind_damage);
  EXPECT_TRUE(Count(kAll + zeros.substr(kAll.size()) + kAll).behind_damage);
}

TEST_F(CountSoundBatchesTest, ABatchMayBeInParts) {
  EXPECT_EQ(Count(kFirst + kLast + kFirst + kMiddle + kMiddle + kLast).count,
            2u);
  EXPECT_EQ(Count(kAll + kFirst).count, 1u);
  EXPECT_FALSE(Count(kAll + kFirst + kMiddle).behind_damage);
  std::string middle = kMiddle;
  middle[8] ^= 1;
  EXPECT_EQ(Count(kFirst + middle + kLast + kAll).count, 1u);
  for (const std::string& before :
       {kFirst + middle + kLast, kFirst, kLast, kMiddle}) {
    EXPECT_EQ(Count(before + kAll).count, 1u);
    EXPECT_TRUE(Count(before + kAll).behind_damage);
  }
}

// A file that is used again: its end is what is left of the earlier log.
TEST_F(CountSoundBatchesTest, AnEarlierLogsRecordsAreNone) {
  EXPECT_EQ(Count(kAllOf7 + kAllOf7 + kAllOf6).count, 2u);
  std::string cut = kAllOf7 + kAllOf7.substr(0, 9) + kAllOf6 + kAllOf6;
  EXPECT_EQ(Count(cut).count, 1u);
  EXPECT_FALSE(Count(cut).behind_damage);
  EXPECT_TRUE(Count(cut + kAllOf7).behind_damage);
}

TEST_F(CountSoundBatchesTest, RecordsOfTheLogItselfAreNone) {
  EXPECT_EQ(Count(kCompression + kAll + kAll).count, 2u);
  EXPECT_FALSE(Count(kCompression + kAll).behind_damage);
}

TEST_F(CountSoundBatchesTest, WhatIsKnownIsNotChecked) {
  std::string damaged = kAll;
  damaged[0] ^= 1;
  EXPECT_EQ(Count(damaged + kAll, 0).count, 1u);
  EXPECT_EQ(Count(damaged + kAll, 1).count, 2u);
  EXPECT_FALSE(Count(damaged + kAll, 1).behind_damage);
}

}  // namespace
}  // namespace rocksync

#include "plugin/hash_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rocksync {

struct HashLogTestPeer {
  static char* Chunk(HashLog* log, size_t number) {
    return log->chunks_[number].get();
  }
};

namespace {

std::vector<uint64_t> Contents(const HashLog& log) {
  std::vector<uint64_t> all;
  log.ForEachGroup([&all](const uint64_t* hashes, size_t count) {
    all.insert(all.end(), hashes, hashes + count);
  });
  return all;
}

TEST(HashLogTest, KeepsTheOrderAcrossChunks) {
  for (const size_t count :
       {size_t{0}, size_t{1}, HashLog::kChunkHashes - 1, HashLog::kChunkHashes,
        HashLog::kChunkHashes + 1, 3 * HashLog::kChunkHashes}) {
    HashLog log;
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < count; ++i) {
      log.Append(i << 32 | i);
      expected.push_back(i << 32 | i);
    }
    EXPECT_EQ(log.size(), count);
    EXPECT_EQ(Contents(log), expected);
    EXPECT_TRUE(log.Verify());
  }
}

TEST(HashLogTest, TakesSevenBytesAKey) {
  HashLog log;
  size_t grown = 0;
  for (size_t i = 0; i < 1'000'000; ++i) grown += log.Append(i);
  EXPECT_EQ(grown * HashLog::kChunkBytes, log.bytes());
  EXPECT_LE(log.bytes(), 7'001'000 + HashLog::kChunkBytes);
}

TEST(HashLogTest, IsEmptyAgainAfterClear) {
  HashLog log;
  for (size_t i = 0; i < 3 * HashLog::kChunkHashes; ++i) log.Append(7);
  log.Clear();
  EXPECT_EQ(log.size(), 0u);
  EXPECT_LE(log.bytes(), HashLog::kChunkBytes);
  EXPECT_TRUE(log.Verify());
  log.Append(5);
  EXPECT_EQ(Contents(log), std::vector<uint64_t>{5});
}

// Sorted, they are the same ones, and the upper 8 bits of the addresses only
// grow; in windows that are full, half full and empty.
TEST(HashLogTest, ComesTogetherByAddressOnceSorted) {
  constexpr size_t kWindow = HashLog::kScratchBytes / 8;
  for (const size_t count :
       {size_t{0}, size_t{1}, kWindow - 1, kWindow, 2 * kWindow + 5000}) {
    HashLog log;
    std::vector<uint64_t> expected;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t hash = i * 0x9e3779b97f4a7c15;
      log.Append(hash);
      expected.push_back(hash & HashLog::kKeptBits);
    }
    log.SortByAddress();
    EXPECT_TRUE(log.Verify());
    std::vector<uint64_t> contents = Contents(log);
    EXPECT_TRUE(std::is_sorted(
        contents.begin(), contents.end(),
        [](uint64_t a, uint64_t b) { return a >> 56 < b >> 56; }));
    std::sort(contents.begin(), contents.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(contents, expected);

    log.Clear();
    log.Append(uint64_t{1} << 63);
    log.Append(2);
    EXPECT_EQ(Contents(log), (std::vector<uint64_t>{uint64_t{1} << 63, 2}));
  }
}

TEST(HashLogTest, NoticesAChangedBitAnywhere) {
  HashLog log;
  const size_t count = HashLog::kChunkHashes + 10;
  for (size_t i = 0; i < count; ++i) log.Append(i * 0x9e3779b97f4a7c15);
  for (size_t at = 0; at < HashLog::kHashBytes * count; at += 9) {
    constexpr size_t kFull = HashLog::kHashBytes * HashLog::kChunkHashes;
    char& byte = HashLogTestPeer::Chunk(&log, at / kFull)[at % kFull];
    const char before = byte;
    byte = static_cast<char>(byte ^ (1 << (at % 8)));
    EXPECT_FALSE(log.Verify()) << at;
    byte = before;
  }
  EXPECT_TRUE(log.Verify());
}

TEST(HashLogTest, KeepsTheBitsThatAFilterLooksAt) {
  HashLog log;
  log.Append(~uint64_t{0});
  log.Append(0x123456789abcdef0);
  log.Append(0);
  EXPECT_EQ(Contents(log),
            (std::vector<uint64_t>{0xffffffff00ffffff, 0x1234567800bcdef0, 0}));
  EXPECT_TRUE(log.Verify());
}

}  // namespace
}  // namespace rocksync

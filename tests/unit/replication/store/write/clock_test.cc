#include "replication/store/write/clock.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

TEST(HybridClockTest, ReadingsGrowWhateverTheWallClockDoes) {
  HybridClock clock(5);
  EXPECT_EQ(clock.Next(0), 6u);
  EXPECT_EQ(clock.Next(1), uint64_t{1} << 16);
  EXPECT_EQ(clock.Next(1), (uint64_t{1} << 16) + 1);
  EXPECT_EQ(clock.Next(0), (uint64_t{1} << 16) + 2) << "the wall jumped back";
  clock.Observe((uint64_t{7} << 16) + 0xffff);
  EXPECT_EQ(clock.Next(3), uint64_t{8} << 16) << "the counter carries";
  clock.Observe(1);
  EXPECT_EQ(clock.Last(), uint64_t{8} << 16);
}

TEST(HybridClockTest, ThreadsNeverGetTheSameReading) {
  HybridClock clock(0);
  std::vector<std::vector<uint64_t>> readings(4);
  std::vector<std::thread> threads;
  for (auto& mine : readings) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) mine.push_back(clock.Next(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : readings) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 80000u);
}

}  // namespace
}  // namespace rocksync

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "replication/store/index/dirty_positions.h"
#include "replication/store/index/stripe_locks.h"
#include "replication/store/index/word_lock.h"
#include "replication/store/write/clock.h"

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

TEST(WordLockTest, ExcludesAndWakesWhoWaits) {
  WordLock lock;
  uint64_t count = 0;  // guarded by lock
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        std::lock_guard guard(lock);
        ++count;
        if (i % 1000 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80000u);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
}

TEST(StripeLocksTest, TakingAllExcludesWritersAndIsNotStarved) {
  StripeLocks locks;
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      StripeSet pair;
      pair.Add(7);
      pair.Add(static_cast<size_t>(200 + t));
      while (!stop) {
        StripeSetGuard guard(&locks, pair);
        ++inside;
        --inside;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    AllStripesGuard guard(&locks);
    EXPECT_EQ(inside, 0);
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

TEST(StripeLocksTest, GivesUpWhenCancelled) {
  StripeLocks locks;
  locks.Lock(250);
  EXPECT_FALSE(locks.LockAll([] { return true; }));
  locks.Lock(3);  // nothing is left locked, and the gate is open
  locks.Unlock(3);
  locks.Unlock(250);
  EXPECT_TRUE(locks.LockAll({}));
  locks.UnlockAll();
}

TEST(DirtyPositionsTest, TracksUntilTooManyAndStartsAnew) {
  DirtyPositions dirty;
  std::vector<uint64_t> positions;
  dirty.Add(1);
  EXPECT_FALSE(dirty.Take(&positions)) << "was not tracking";
  for (int i = 0; i < 100000; ++i) dirty.Add(static_cast<uint64_t>(i % 5));
  EXPECT_TRUE(dirty.Take(&positions)) << "hot keys take no room";
  EXPECT_EQ(positions, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  dirty.Add(9);
  dirty.Add(8);
  dirty.Add(9);
  EXPECT_TRUE(dirty.Take(&positions));
  EXPECT_EQ(positions, (std::vector<uint64_t>{8, 9}));
  for (uint64_t i = 0; i < 1000000; ++i) dirty.Add(i);
  EXPECT_FALSE(dirty.tracking());
  EXPECT_FALSE(dirty.Take(&positions));
  EXPECT_TRUE(positions.empty());
  EXPECT_TRUE(dirty.Take(&positions));
}

}  // namespace
}  // namespace rocksync

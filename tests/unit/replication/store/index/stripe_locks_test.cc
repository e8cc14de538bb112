#include "replication/store/index/stripe_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

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

}  // namespace
}  // namespace rocksync

#include "replication/peering/token_bucket.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

using Clock = TokenBucket::Clock;
using std::chrono::milliseconds;

const Clock::time_point kStart{std::chrono::hours(1)};

TEST(TokenBucket, NoRateNoWaiting) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.Charge(1'000'000'000, kStart), Clock::duration::zero());
}

TEST(TokenBucket, KeepsToTheRate) {
  TokenBucket bucket;
  bucket.SetRate(1000);
  Clock::time_point now = kStart;
  for (int i = 0; i < 100; ++i) now += bucket.Charge(50, now);
  // 5000 tokens at 1000 a second, less the burst of a tenth of a second.
  EXPECT_EQ(now - kStart, milliseconds(4900));
}

TEST(TokenBucket, ABurstComesFreeAfterRestButNoMore) {
  TokenBucket bucket;
  bucket.SetRate(1000);
  (void)bucket.Charge(1000, kStart);
  const Clock::time_point later = kStart + std::chrono::hours(1);
  EXPECT_EQ(bucket.Charge(100, later), Clock::duration::zero());
  EXPECT_EQ(bucket.Charge(100, later), milliseconds(100));
}

TEST(TokenBucket, AWorkLargerThanTheRateIsPaidOff) {
  TokenBucket bucket;
  bucket.SetRate(1000);
  EXPECT_EQ(bucket.Charge(10'000, kStart), milliseconds(9900));
  EXPECT_EQ(bucket.Charge(0, kStart + milliseconds(9900)),
            Clock::duration::zero());
}

TEST(TokenBucket, ChangingTheRateForgivesWhatIsOwed) {
  TokenBucket bucket;
  bucket.SetRate(1);
  (void)bucket.Charge(1000, kStart);
  bucket.SetRate(1000);
  EXPECT_EQ(bucket.Charge(100, kStart), Clock::duration::zero());
  bucket.SetRate(0);
  EXPECT_EQ(bucket.Charge(1'000'000, kStart), Clock::duration::zero());
}

TEST(TokenBucket, WhoWaitsIsForgivenToo) {
  TokenBucket bucket;
  bucket.SetRate(1);
  int polls = 0;
  const auto stopped = [&] {
    if (++polls == 2) bucket.SetRate(0);
    return polls > 1000;
  };
  EXPECT_TRUE(bucket.Pay(1'000'000, std::chrono::hours(1), stopped));
  EXPECT_EQ(polls, 2);
}

}  // namespace
}  // namespace rocksync

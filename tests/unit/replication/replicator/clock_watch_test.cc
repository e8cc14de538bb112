#include "replication/replicator/clock_watch.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

TEST(ClockWatch, NoticesJumpsAndNothingElse) {
  ClockWatch watch;
  EXPECT_FALSE(watch.Observe(1'000'000, 500));
  EXPECT_FALSE(watch.Observe(1'001'000, 1'500));
  EXPECT_FALSE(watch.Observe(1'003'000, 2'500)) << "a second of slewing";
  EXPECT_FALSE(watch.Observe(1'063'000, 62'500)) << "a long pause";
  EXPECT_EQ(watch.Observe(1'069'000, 63'500), 5'000);
  EXPECT_FALSE(watch.Observe(1'070'000, 64'500)) << "told once";
  EXPECT_EQ(watch.Observe(971'000, 65'500), -100'000);
  EXPECT_FALSE(watch.Observe(972'000, 66'500));
}

TEST(ClockWatch, BeforeTheEpochOfTheMonotonicClock) {
  ClockWatch watch;
  EXPECT_FALSE(watch.Observe(5, 1'000'000));
  EXPECT_FALSE(watch.Observe(1'005, 1'001'000));
  EXPECT_EQ(watch.Observe(10'005, 1'002'000), 8'000);
}

}  // namespace
}  // namespace rocksync

#include "replication/protocol/life.h"

#include "gtest/gtest.h"

namespace rocksync {
namespace {

constexpr Life kKnown = {.incarnation = {.counter = 4, .random = 7},
                         .first_clock = 100,
                         .clock = 150};

TEST(LifeTest, TheSameLifeGoesOnWhateverItsClock) {
  Life now = kKnown;
  for (const uint64_t clock : {140u, 150u, 160u}) {
    now.clock = clock;
    EXPECT_EQ(Compare(kKnown, now), Succession::kFollows) << clock;
  }
}

TEST(LifeTest, ALaterLifeStartsFromNoLess) {
  Life now = {.incarnation = {.counter = 5, .random = 1},
              .first_clock = 150,
              .clock = 150};
  EXPECT_EQ(Compare(kKnown, now), Succession::kFollows);
  // However far it has come since.
  now.first_clock = 149;
  now.clock = 1000;
  EXPECT_EQ(Compare(kKnown, now), Succession::kClockBack);
}

TEST(LifeTest, AnEarlierLifeAndATwin) {
  Life now = kKnown;
  now.incarnation.counter = 3;
  EXPECT_EQ(Compare(kKnown, now), Succession::kRolledBack);
  EXPECT_EQ(Describe(Succession::kRolledBack, kKnown, now),
            "was rolled back: incarnation 3 after 4");
  now.incarnation = {.counter = 4, .random = 8};
  EXPECT_EQ(Compare(kKnown, now), Succession::kTwin);
}

TEST(LifeTest, NobodyIsFollowedByAnybody) {
  EXPECT_EQ(Compare({}, kKnown), Succession::kFollows);
}

TEST(LifeTest, WhatIsRememberedNeverFalls) {
  Life now = kKnown;
  now.clock = 120;
  EXPECT_EQ(Later(kKnown, now).clock, 150u);
  now.clock = 170;
  EXPECT_EQ(Later(kKnown, now).clock, 170u);
}

}  // namespace
}  // namespace rocksync

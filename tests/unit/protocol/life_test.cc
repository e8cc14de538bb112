#include "replication/protocol/life.h"

#include "gtest/gtest.h"

namespace rocksync {
namespace {

const Life kKnown = {.incarnation = {.counter = 4, .random = 7},
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

// Opened twice since: the second time its clock has caught up. Whether the past
// is known decides.
TEST(LifeTest, ABackupOpenedOftenEnoughToCatchUp) {
  const auto now = [](const PastLives& past) {
    return Life{.incarnation = {.counter = 6, .random = 1},
                .first_clock = 500,
                .clock = 500,
                .past = past};
  };
  EXPECT_EQ(Compare(kKnown, now({})), Succession::kFollows);
  // Of the life that is known: the next one started early, or late enough.
  PastLives past = {.since = 0, .lives = {{{3, 9}, 50}, {{4, 7}, 149}}};
  Append({5, 2}, 500, &past);
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kClockBack);
  past.lives[1].next_clock = 150;
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kFollows);
  // Of before it, or another one with its counter.
  past.lives[1].incarnation.random = 8;
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kOtherLine);
  EXPECT_EQ(Describe(Succession::kOtherLine, kKnown, now(past)),
            "was rolled back or copied: incarnation 6 does not come of "
            "incarnation 4, which was met");
  past.lives.erase(past.lives.begin() + 1);
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kOtherLine);
  // Lives so old that they are not in the list any more.
  past.since = 4;
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kFollows);
}

// What two others know of one replica.
TEST(LifeTest, TwoThatFollowOneAnotherAreOne) {
  Life known = {.incarnation = {5, 1}, .first_clock = 100, .clock = 150};
  known.past = {.since = 0, .lives = {{{4, 7}, 100}}};
  const Life alone = known;
  // Nothing, the same life, an earlier one.
  EXPECT_TRUE(Unite({}, &known));
  EXPECT_EQ(known, alone);
  Life other = known;
  other.clock = 160;
  EXPECT_TRUE(Unite(other, &known));
  EXPECT_EQ(known, other);
  EXPECT_TRUE(Unite({.incarnation = {4, 7}, .clock = 100}, &known));
  EXPECT_EQ(known, other);
  // A later one, and from nothing.
  Life later = {.incarnation = {6, 2}, .first_clock = 160, .clock = 160};
  later.past = {.since = 4, .lives = {{{5, 1}, 160}}};
  EXPECT_TRUE(Unite(later, &known));
  EXPECT_EQ(known, later);
  Life nothing;
  EXPECT_TRUE(Unite(later, &nothing));
  EXPECT_EQ(nothing, later);
}

TEST(LifeTest, ACopyAndItsOriginalAreTwo) {
  // Of life 4, which ran on up to 110.
  Life copy = {.incarnation = {5, 1}, .first_clock = 100, .clock = 150};
  copy.past = {.since = 0, .lives = {{{4, 7}, 100}}};
  const Life original = {.incarnation = {4, 7}, .clock = 110};
  Life known = copy;
  EXPECT_FALSE(Unite(original, &known));
  EXPECT_EQ(known, copy);
  known = original;
  EXPECT_FALSE(Unite(copy, &known));
  EXPECT_EQ(known, original);
  // Both opened once more.
  Life reopened = {.incarnation = {5, 2}, .first_clock = 120, .clock = 120};
  EXPECT_FALSE(Unite(reopened, &copy));
}

TEST(LifeTest, ThePastIsShortened) {
  const PastLives all = {.since = 0,
                         .lives = {{{1, 1}, 10}, {{2, 2}, 20}, {{3, 3}, 30}}};
  PastLives past = all;
  Shorten(9, &past);
  EXPECT_EQ(past, all);
  Shorten(20, &past);
  EXPECT_EQ(past, (PastLives{.since = 2, .lives = {{{3, 3}, 30}}}));
  past = {.lives = {{{1, 1}, 10}}};  // it is not said since when
  Shorten(10, &past);
  EXPECT_EQ(past, PastLives{});
}

TEST(LifeTest, ThePastIsBounded) {
  PastLives past = {.since = 0};
  for (uint64_t counter = 1; counter <= kMaxPastLives + 3; ++counter) {
    Append({counter, 10 * counter}, 100 * counter, &past);
  }
  EXPECT_EQ(past.since, 3u);
  ASSERT_EQ(past.lives.size(), kMaxPastLives);
  EXPECT_EQ(past.lives.front(), (PastLife{{4, 40}, 400}));
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

#include "replication/membership/incarnation.h"

#include "gtest/gtest.h"

namespace rocksync {
namespace {

const Incarnation kKnown = {.incarnation = {.counter = 4, .random = 7},
                            .first_clock = 100,
                            .clock = 150};

TEST(IncarnationTest, TheSameIncarnationGoesOnWhateverItsClock) {
  Incarnation now = kKnown;
  for (const uint64_t clock : {140u, 150u, 160u}) {
    now.clock = clock;
    EXPECT_EQ(Compare(kKnown, now), Succession::kFollows) << clock;
  }
}

TEST(IncarnationTest, ALaterIncarnationStartsFromNoLess) {
  Incarnation now = {.incarnation = {.counter = 5, .random = 1},
                     .first_clock = 150,
                     .clock = 150};
  EXPECT_EQ(Compare(kKnown, now), Succession::kFollows);
  // However far it has come since.
  now.first_clock = 149;
  now.clock = 1000;
  EXPECT_EQ(Compare(kKnown, now), Succession::kClockBack);
}

TEST(IncarnationTest, AnEarlierIncarnationAndAClone) {
  Incarnation now = kKnown;
  now.incarnation.counter = 3;
  EXPECT_EQ(Compare(kKnown, now), Succession::kRolledBack);
  EXPECT_EQ(Describe(Succession::kRolledBack, kKnown, now),
            "was rolled back: incarnation 3 after 4");
  now.incarnation = {.counter = 4, .random = 8};
  EXPECT_EQ(Compare(kKnown, now), Succession::kClone);
}

// Opened twice since: the second time its clock has caught up. Whether the past
// is known decides.
TEST(IncarnationTest, ABackupOpenedOftenEnoughToCatchUp) {
  const auto now = [](const IncarnationHistory& past) {
    return Incarnation{.incarnation = {.counter = 6, .random = 1},
                       .first_clock = 500,
                       .clock = 500,
                       .past = past};
  };
  EXPECT_EQ(Compare(kKnown, now({})), Succession::kFollows);
  // Of the incarnation that is known: the next one started early, or late
  // enough.
  IncarnationHistory past = {.since = 0,
                             .incarnations = {{{3, 9}, 50}, {{4, 7}, 149}}};
  Append({5, 2}, 500, &past);
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kClockBack);
  past.incarnations[1].next_clock = 150;
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kFollows);
  // Of before it, or another one with its counter.
  past.incarnations[1].incarnation.random = 8;
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kOtherLine);
  EXPECT_EQ(Describe(Succession::kOtherLine, kKnown, now(past)),
            "was rolled back or copied: incarnation 6 does not descend from "
            "incarnation 4, which this replica has met");
  past.incarnations.erase(past.incarnations.begin() + 1);
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kOtherLine);
  // Lives so old that they are not in the list any more.
  past.since = 4;
  EXPECT_EQ(Compare(kKnown, now(past)), Succession::kFollows);
}

// What two others know of one replica.
TEST(IncarnationTest, TwoThatFollowOneAnotherAreOne) {
  Incarnation known = {.incarnation = {5, 1}, .first_clock = 100, .clock = 150};
  known.past = {.since = 0, .incarnations = {{{4, 7}, 100}}};
  const Incarnation alone = known;
  // Nothing, the same incarnation, an earlier one.
  EXPECT_TRUE(Unite({}, &known));
  EXPECT_EQ(known, alone);
  Incarnation other = known;
  other.clock = 160;
  EXPECT_TRUE(Unite(other, &known));
  EXPECT_EQ(known, other);
  EXPECT_TRUE(Unite({.incarnation = {4, 7}, .clock = 100}, &known));
  EXPECT_EQ(known, other);
  // A later one, and from nothing.
  Incarnation later = {.incarnation = {6, 2}, .first_clock = 160, .clock = 160};
  later.past = {.since = 4, .incarnations = {{{5, 1}, 160}}};
  EXPECT_TRUE(Unite(later, &known));
  EXPECT_EQ(known, later);
  Incarnation nothing;
  EXPECT_TRUE(Unite(later, &nothing));
  EXPECT_EQ(nothing, later);
}

TEST(IncarnationTest, ACopyAndItsOriginalAreTwo) {
  // Of incarnation 4, which ran on up to 110.
  Incarnation copy = {.incarnation = {5, 1}, .first_clock = 100, .clock = 150};
  copy.past = {.since = 0, .incarnations = {{{4, 7}, 100}}};
  const Incarnation original = {.incarnation = {4, 7}, .clock = 110};
  Incarnation known = copy;
  EXPECT_FALSE(Unite(original, &known));
  EXPECT_EQ(known, copy);
  known = original;
  EXPECT_FALSE(Unite(copy, &known));
  EXPECT_EQ(known, original);
  // Both opened once more.
  Incarnation reopened = {
      .incarnation = {5, 2}, .first_clock = 120, .clock = 120};
  EXPECT_FALSE(Unite(reopened, &copy));
}

TEST(IncarnationTest, ThePastIsShortened) {
  const IncarnationHistory all = {
      .since = 0, .incarnations = {{{1, 1}, 10}, {{2, 2}, 20}, {{3, 3}, 30}}};
  IncarnationHistory past = all;
  Shorten(9, &past);
  EXPECT_EQ(past, all);
  Shorten(20, &past);
  EXPECT_EQ(past,
            (IncarnationHistory{.since = 2, .incarnations = {{{3, 3}, 30}}}));
  past = {.incarnations = {{{1, 1}, 10}}};  // it is not said since when
  Shorten(10, &past);
  EXPECT_EQ(past, IncarnationHistory{});
}

TEST(IncarnationTest, ThePastIsBounded) {
  IncarnationHistory past = {.since = 0};
  for (uint64_t counter = 1; counter <= kMaxPastIncarnations + 3; ++counter) {
    Append({counter, 10 * counter}, 100 * counter, &past);
  }
  EXPECT_EQ(past.since, 3u);
  ASSERT_EQ(past.incarnations.size(), kMaxPastIncarnations);
  EXPECT_EQ(past.incarnations.front(), (FormerIncarnation{{4, 40}, 400}));
}

TEST(IncarnationTest, NobodyIsFollowedByAnybody) {
  EXPECT_EQ(Compare({}, kKnown), Succession::kFollows);
}

TEST(IncarnationTest, WhatIsRememberedNeverFalls) {
  Incarnation now = kKnown;
  now.clock = 120;
  EXPECT_EQ(Later(kKnown, now).clock, 150u);
  now.clock = 170;
  EXPECT_EQ(Later(kKnown, now).clock, 170u);
}

}  // namespace
}  // namespace rocksync

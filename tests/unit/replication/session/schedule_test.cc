#include "replication/session/schedule.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;
using testing::Optional;

TEST(ScheduleTest, FirstSessionsAreSpreadOverAnInterval) {
  Schedule schedule({.interval_ms = 1000}, 50, 7, 5000);
  EXPECT_THAT(schedule.NextDueMs(), Optional(AllOf(Ge(5000u), Le(5200u))));
  std::set<size_t> seen;
  for (uint64_t now = 5000; now < 6000; ++now) {
    while (const auto due = schedule.Due(now)) {
      seen.insert(*due);
      schedule.Ended(*due, SessionOutcome::kProven, now);
    }
  }
  EXPECT_EQ(seen.size(), 50u);
}

TEST(ScheduleTest, TheIntervalHasJitter) {
  Schedule schedule({.interval_ms = 1000}, 1, 7, 0);
  std::set<uint64_t> gaps;
  uint64_t now = 0;
  for (int i = 0; i < 100; ++i) {
    schedule.Ended(0, SessionOutcome::kProven, now);
    const uint64_t next = *schedule.NextDueMs();
    EXPECT_THAT(next - now, AllOf(Ge(750u), Le(1250u)));
    gaps.insert(next - now);
    now = next;
  }
  EXPECT_GT(gaps.size(), 50u);
}

TEST(ScheduleTest, FailuresBackOffUpToABound) {
  Schedule schedule(
      {.interval_ms = 1000, .first_backoff_ms = 100, .max_backoff_ms = 6400}, 1,
      7, 0);
  const uint64_t expected[] = {100, 200, 400, 800, 1600, 3200, 6400, 6400};
  for (const uint64_t backoff : expected) {
    schedule.Ended(0, SessionOutcome::kFailed, 0);
    EXPECT_THAT(schedule.NextDueMs(),
                Optional(AllOf(Ge(backoff * 3 / 4), Le(backoff * 5 / 4))));
  }
  EXPECT_EQ(schedule.failures_in_a_row(0), 8u);
  schedule.Ended(0, SessionOutcome::kNotProven, 0);
  EXPECT_EQ(schedule.failures_in_a_row(0), 0u);
}

TEST(ScheduleTest, BusyPeersAreTriedAgainSoonButNotForever) {
  Schedule schedule({.interval_ms = 1000, .busy_ms = 50}, 1, 7, 0);
  schedule.Ended(0, SessionOutcome::kBusy, 0);
  EXPECT_THAT(schedule.NextDueMs(), Optional(AllOf(Ge(25u), Le(75u))));
  for (int i = 0; i < 20; ++i) schedule.Ended(0, SessionOutcome::kBusy, 0);
  EXPECT_THAT(schedule.NextDueMs(), Optional(Le(1500u)));
}

TEST(ScheduleTest, ExpiredGoesOnAtOnce) {
  Schedule schedule({}, 1, 7, 0);
  schedule.Ended(0, SessionOutcome::kExpired, 123);
  EXPECT_THAT(schedule.Due(123), Optional(0u));
}

TEST(ScheduleTest, WithoutAnIntervalOnlyWhenAsked) {
  Schedule schedule({.interval_ms = 0}, 2, 7, 0);
  EXPECT_EQ(schedule.NextDueMs(), std::nullopt);
  schedule.Ask(1, 10);
  EXPECT_EQ(schedule.Due(9), std::nullopt);
  EXPECT_THAT(schedule.Due(10), Optional(1u));
  schedule.Ended(1, SessionOutcome::kFailed, 20);
  EXPECT_EQ(schedule.NextDueMs(), std::nullopt);
  schedule.Ended(1, SessionOutcome::kBusy, 20);
  EXPECT_NE(schedule.NextDueMs(), std::nullopt);
}

TEST(ScheduleTest, TheLongestOverdueGoesFirst) {
  Schedule schedule({.interval_ms = 0}, 3, 7, 0);
  schedule.Ask(2, 10);
  schedule.Ask(0, 20);
  EXPECT_THAT(schedule.Due(100), Optional(2u));
  schedule.Ask(1, 5);
  EXPECT_THAT(schedule.Due(100), Optional(1u));
}

TEST(ScheduleTest, PeersComeAndGo) {
  Schedule schedule({.interval_ms = 1000}, 2, 7, 0);
  schedule.Remove(0);
  schedule.Ask(0, 10);
  schedule.Begins(0);
  schedule.Ended(0, SessionOutcome::kExpired, 10);
  schedule.Ended(1, SessionOutcome::kProven, 0);
  EXPECT_EQ(schedule.Due(20), std::nullopt) << "of a peer that is gone";
  EXPECT_EQ(schedule.Add(30), 2u) << "and not 0 again";
  EXPECT_THAT(schedule.Due(30), Optional(2u));
  schedule.Remove(1);
  schedule.Remove(2);
  EXPECT_EQ(schedule.NextDueMs(), std::nullopt);
}

TEST(ScheduleTest, WhoIsMetAlreadyIsLeftOut) {
  Schedule schedule({.interval_ms = 0}, 2, 7, 0);
  schedule.Ask(0, 10);
  schedule.Ask(1, 20);
  EXPECT_THAT(schedule.Due(100, {0}), Optional(1u));
  EXPECT_THAT(schedule.NextDueMs({0}), Optional(20u));
  EXPECT_EQ(schedule.Due(100, {0, 1}), std::nullopt);
  EXPECT_EQ(schedule.NextDueMs({0, 1}), std::nullopt);
}

TEST(ScheduleTest, WhoIsAddedWithoutAnIntervalWaitsToBeAsked) {
  Schedule schedule({.interval_ms = 0}, 0, 7, 0);
  const size_t peer = schedule.Add(10);
  EXPECT_EQ(schedule.NextDueMs(), std::nullopt);
  schedule.Ask(peer, 20);
  EXPECT_THAT(schedule.Due(20), Optional(peer));
}

TEST(ScheduleTest, WhoAsksDuringASessionGetsAnother) {
  Schedule schedule({.interval_ms = 1000}, 1, 7, 0);
  schedule.Ask(0, 10);
  schedule.Begins(0);
  schedule.Ended(0, SessionOutcome::kProven, 20);
  EXPECT_THAT(schedule.NextDueMs(), Optional(Ge(770u)));
  schedule.Ask(0, 30);
  schedule.Begins(0);
  schedule.Ask(0, 40);
  schedule.Ended(0, SessionOutcome::kProven, 50);
  EXPECT_THAT(schedule.NextDueMs(), Optional(50u));
  // Nor is it forgotten if the session could not be.
  schedule.Ask(0, 60);
  schedule.Ended(0, SessionOutcome::kFailed, 60);
  EXPECT_THAT(schedule.NextDueMs(), Optional(Ge(100u)));
  schedule.Begins(0);
  schedule.Ended(0, SessionOutcome::kProven, 200);
  EXPECT_THAT(schedule.NextDueMs(), Optional(Ge(950u)));
}

TEST(ScheduleTest, ASeedReplays) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Schedule a({}, 5, seed, 0);
    Schedule b({}, 5, seed, 0);
    EXPECT_EQ(a.NextDueMs(), b.NextDueMs());
  }
}

}  // namespace
}  // namespace rocksync

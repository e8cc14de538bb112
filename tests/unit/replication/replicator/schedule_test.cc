#include "replication/replicator/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

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
  schedule.Ended(0, SessionOutcome::kNotProven, 0);  // not a failure
  schedule.Ended(0, SessionOutcome::kFailed, 0);
  EXPECT_THAT(schedule.NextDueMs(), Optional(AllOf(Ge(75u), Le(125u))));
}

TEST(ScheduleTest, WhoFailedIsTriedAgainOnceTheReasonIsOver) {
  Schedule schedule({.interval_ms = 10'000, .max_backoff_ms = 10'000}, 3, 7, 0);
  for (size_t peer = 0; peer < 3; ++peer) {
    schedule.Ended(peer, SessionOutcome::kProven, 0);
  }
  for (int i = 0; i < 9; ++i) schedule.Ended(1, SessionOutcome::kFailed, 0);
  EXPECT_EQ(schedule.Due(7'000), std::nullopt);
  schedule.RetryFailed(100);
  EXPECT_EQ(schedule.Due(99), std::nullopt);
  EXPECT_THAT(schedule.Due(100), Optional(1u));
  EXPECT_EQ(schedule.Due(7'000, {1}), std::nullopt) << "others did not fail";
  schedule.Ended(1, SessionOutcome::kFailed, 100);
  EXPECT_THAT(schedule.NextDueMs(), Optional(Le(1'350u))) << "as at first";
  // Without an interval nobody but who asks tries again.
  Schedule on_demand({.interval_ms = 0}, 1, 7, 0);
  on_demand.Ended(0, SessionOutcome::kFailed, 0);
  on_demand.RetryFailed(100);
  EXPECT_EQ(on_demand.NextDueMs(), std::nullopt);
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
  schedule.Remove(0, 0);
  schedule.Ask(0, 10);
  schedule.Begins(0);
  schedule.Ended(0, SessionOutcome::kExpired, 10);
  schedule.Ended(1, SessionOutcome::kProven, 0);
  EXPECT_EQ(schedule.Due(20), std::nullopt) << "of a peer that is gone";
  EXPECT_EQ(schedule.Add(30), 2u) << "and not 0 again";
  EXPECT_THAT(schedule.Due(30), Optional(2u));
  schedule.Remove(1, 30);
  schedule.Remove(2, 30);
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

// Whatever it was asked for in vain does not put off what it is asked for now,
// as each of many gaps asks.
TEST(ScheduleTest, WhoWasBusyIsSoonAskedAgain) {
  Schedule schedule({.interval_ms = 600'000, .busy_ms = 50}, 1, 7, 0);
  uint64_t now_ms = 0;
  for (int gap = 0; gap < 20; ++gap) {
    schedule.Ask(0, now_ms);
    // Not at once for each, but within half as much again.
    EXPECT_THAT(schedule.NextDueMs(), Optional(Le(now_ms + 75)));
    now_ms = std::max(now_ms, *schedule.NextDueMs());
    schedule.Begins(0);
    schedule.Ended(0, SessionOutcome::kBusy, now_ms);
    EXPECT_GT(*schedule.NextDueMs(), now_ms);
  }
  schedule.Ask(0, now_ms);
  schedule.Begins(0);
  schedule.Ended(0, SessionOutcome::kProven, now_ms);
  schedule.Ask(0, now_ms + 1);
  EXPECT_THAT(schedule.NextDueMs(), Optional(now_ms + 1));
}

// Whoever is due is met at once, with this outcome.
class Turns {
 public:
  explicit Turns(size_t peers, uint64_t seed = 7)
      : schedule({.interval_ms = 1000,
                  .first_backoff_ms = 100,
                  .max_backoff_ms = 1000,
                  .max_peers_per_interval = 4},
                 peers, seed, 0) {}

  // Those who were met, in their order.
  std::vector<size_t> Run(uint64_t ms) {
    std::vector<size_t> met;
    for (const uint64_t end = now_ms + ms; now_ms < end; ++now_ms) {
      schedule.GiveTurn(now_ms);
      while (const auto due = schedule.Due(now_ms)) {
        met.push_back(*due);
        schedule.Begins(*due);
        schedule.Ended(*due,
                       down.count(*due) > 0 ? SessionOutcome::kFailed
                                            : SessionOutcome::kProven,
                       now_ms);
      }
    }
    return met;
  }

  Schedule schedule;
  std::set<size_t> down;
  uint64_t now_ms = 0;
};

std::map<size_t, int> Counted(const std::vector<size_t>& met) {
  std::map<size_t, int> times;
  for (const size_t peer : met) ++times[peer];
  return times;
}

TEST(ScheduleTurnsTest, SoManyAreMetInEachInterval) {
  Turns turns(20);
  for (int interval = 0; interval < 100; ++interval) {
    EXPECT_THAT(turns.Run(1000).size(), AllOf(Ge(3u), Le(5u)));
  }
}

TEST(ScheduleTurnsTest, EachHasItsTurnOnceInARoundAndRoundsDiffer) {
  Turns turns(20);
  const std::vector<size_t> met = turns.Run(100'000);
  ASSERT_GE(met.size(), 300u);
  std::set<std::vector<size_t>> rounds;
  for (size_t i = 0; i + 20 <= met.size(); i += 20) {
    const std::vector<size_t> round(
        met.begin() + static_cast<ptrdiff_t>(i),
        met.begin() + static_cast<ptrdiff_t>(i + 20));
    EXPECT_EQ(std::set<size_t>(round.begin(), round.end()).size(), 20u);
    rounds.insert(round);
  }
  EXPECT_EQ(rounds.size(), met.size() / 20);
}

TEST(ScheduleTurnsTest, TwoReplicasHaveDifferentOrders) {
  EXPECT_NE(Turns(20, 1).Run(5000), Turns(20, 2).Run(5000));
}

TEST(ScheduleTurnsTest, WithNoMorePeersAllAreMetAtEachInterval) {
  Turns turns(4);
  const std::map<size_t, int> times = Counted(turns.Run(10'000));
  ASSERT_EQ(times.size(), 4u);
  for (const auto& [peer, count] : times) EXPECT_THAT(count, Ge(8));
}

TEST(ScheduleTurnsTest, WhoCameHasHadItsTurn) {
  Turns turns(20);
  std::vector<size_t> met;
  for (int i = 0; i < 1'000; ++i) {
    for (size_t came = 0; came < 10; ++came) {
      turns.schedule.Ended(came, SessionOutcome::kProven, turns.now_ms);
    }
    for (const size_t peer : turns.Run(100)) met.push_back(peer);
  }
  // 400 turns, of which those who never come have nearly all.
  std::map<size_t, int> times = Counted(met);
  for (size_t other = 10; other < 20; ++other) {
    EXPECT_THAT(times[other], Ge(30)) << other;
  }
}

TEST(ScheduleTurnsTest, WhoIsAskedForIsMetAtOnceAndOthersKeepTheirTurns) {
  Turns turns(20);
  turns.Run(100);
  for (int i = 0; i < 100; ++i) {
    turns.schedule.Ask(3, turns.now_ms);
    EXPECT_EQ(turns.schedule.Due(turns.now_ms), 3u);
    turns.Run(100);
  }
  EXPECT_EQ(Counted(turns.Run(10'000)).size(), 20u);
}

TEST(ScheduleTurnsTest, NewcomersHaveTheNextTurns) {
  Turns turns(20);
  turns.Run(3'500);
  const size_t first = turns.schedule.Add(turns.now_ms);
  const size_t second = turns.schedule.Add(turns.now_ms);
  turns.schedule.Remove(5, turns.now_ms);
  const std::vector<size_t> met = turns.Run(20'000);
  ASSERT_GE(met.size(), 50u);
  EXPECT_EQ(std::set<size_t>(met.begin(), met.begin() + 2),
            (std::set<size_t>{first, second}));
  const std::map<size_t, int> times = Counted(met);
  EXPECT_EQ(times.size(), 21u);
  EXPECT_EQ(times.count(5), 0u);
}

TEST(ScheduleTurnsTest, OnceFewAreLeftNobodyWaitsForATurn) {
  Turns turns(20);
  turns.Run(3'500);
  for (size_t peer = 0; peer < 16; ++peer) {
    turns.schedule.Remove(peer, turns.now_ms);
  }
  EXPECT_EQ(Counted(turns.Run(1'000)).size(), 4u);
  // And once there are more again they do.
  turns.schedule.Add(turns.now_ms);
  turns.Run(2'000);
  EXPECT_THAT(turns.Run(10'000).size(), AllOf(Ge(30u), Le(50u)));
}

TEST(ScheduleTurnsTest, WhoIsDownIsTriedAFewTimesAndThenAtItsTurns) {
  Turns turns(20);
  for (int i = 0; i < 5; ++i) {  // after 100, 200, 400 and 800 ms
    EXPECT_FALSE(turns.schedule.WaitsForItsTurn(0) && i > 0) << i;
    turns.schedule.Ended(0, SessionOutcome::kFailed, 0);
  }
  EXPECT_TRUE(turns.schedule.WaitsForItsTurn(0));
  turns.down = {0};
  std::map<size_t, int> times = Counted(turns.Run(100'000));
  EXPECT_THAT(times[0], AllOf(Ge(times[1] - 1), Le(times[1] + 1)));
  turns.down = {};
  turns.Run(10'000);
  turns.schedule.Ended(0, SessionOutcome::kFailed, turns.now_ms);
  EXPECT_FALSE(turns.schedule.WaitsForItsTurn(0));  // the first failure again
}

TEST(ScheduleTurnsTest, ThoseBusyForLongWaitForTheirTurns) {
  Turns turns(20);
  for (int i = 0; i < 20; ++i) {
    turns.schedule.Ended(3, SessionOutcome::kBusy, 0);
    EXPECT_EQ(turns.schedule.WaitsForItsTurn(3), i >= 5) << i;
  }
}

TEST(ScheduleTurnsTest, NoTurnsAreMadeUpFor) {
  Turns turns(20);
  turns.Run(100);
  turns.now_ms += 50'000;  // paused
  EXPECT_THAT(turns.Run(1'000).size(), Le(6u));
}

TEST(ScheduleTurnsTest, TheNextTurnIsWaitedFor) {
  Turns turns(20);
  EXPECT_THAT(turns.schedule.NextDueMs(), Optional(Le(250u)));
  const uint64_t next = *turns.schedule.NextDueMs();
  EXPECT_EQ(turns.Run(next).size(), 0u);
  EXPECT_EQ(turns.Run(1).size(), 1u);
  EXPECT_THAT(turns.schedule.NextDueMs(),
              Optional(AllOf(Ge(next + 187), Le(next + 313))));
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

#include "replication/stream/neighbour_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/spread_world.h"

namespace rocksync {
namespace {

using testing::SizeIs;

// A replica with peers, of which some are up: those who are up and are chosen
// have a stream with it 100 ms later.
class ChoiceTest : public testing::Test {
 protected:
  static constexpr uint64_t kReplaceMs = 10'000;
  static constexpr uint64_t kRenewMs = 300'000;

  void Start(size_t most, size_t peers, const std::string& zone = "",
             uint64_t seed = 1) {
    choice_.emplace(NeighbourChoiceOptions{.most = most,
                                           .zone = zone,
                                           .replace_after_ms = kReplaceMs,
                                           .renew_ms = kRenewMs},
                    seed);
    for (size_t peer = 0; peer < peers; ++peer) choice_->Add(peer);
    Choose();
  }

  void Choose() {
    chosen_ = choice_->Choose(now_ms_);
    for (const size_t peer : chosen_) ever_.insert(peer);
    if (seen_ != nullptr) seen_();
  }

  void Run(uint64_t ms) {
    for (const uint64_t end = now_ms_ + ms; now_ms_ < end; now_ms_ += 100) {
      Choose();
      for (const size_t peer : chosen_) {
        if (down_.count(peer) > 0) {
          choice_->Closed(peer, now_ms_);
        } else {
          choice_->Open(peer, zones_[peer]);
        }
      }
    }
    Choose();
  }

  std::map<std::string, size_t> ChosenByZone() {
    std::map<std::string, size_t> by_zone;
    for (const size_t peer : chosen_) ++by_zone[zones_[peer]];
    return by_zone;
  }

  std::optional<NeighbourChoice> choice_;
  uint64_t now_ms_ = 1'000;
  std::set<size_t> down_;
  std::map<size_t, std::string> zones_;
  std::set<size_t> chosen_;
  std::set<size_t> ever_;
  std::function<void()> seen_;  // called whenever some were chosen
};

TEST_F(ChoiceTest, WithNoMorePeersAllAreNeighboursAndStay) {
  Start(8, 8);
  down_ = {1, 2, 3};
  Run(2 * kRenewMs);
  EXPECT_THAT(chosen_, SizeIs(8));
  EXPECT_FALSE(choice_->limited());
}

TEST_F(ChoiceTest, NoLimitIsAll) {
  Start(0, 100);
  EXPECT_THAT(chosen_, SizeIs(100));
  EXPECT_FALSE(choice_->limited());
}

TEST_F(ChoiceTest, OfMoreAFewByChance) {
  std::set<std::set<size_t>> drawn;
  std::map<size_t, int> times;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Start(8, 40, "", seed);
    EXPECT_THAT(chosen_, SizeIs(8));
    EXPECT_TRUE(choice_->limited());
    drawn.insert(chosen_);
    for (const size_t peer : chosen_) ++times[peer];
  }
  EXPECT_THAT(drawn, SizeIs(200));
  for (size_t peer = 0; peer < 40; ++peer) {
    EXPECT_GE(times[peer], 20) << peer << ", of 40 on average";
  }
}

TEST_F(ChoiceTest, AllStreamsTogetherConnectEverybody) {
  constexpr size_t kReplicas = 60;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::set<size_t>> links(kReplicas);
    for (size_t i = 0; i < kReplicas; ++i) {
      NeighbourChoice choice({.most = 3, .zone = ""}, seed * kReplicas + i);
      for (size_t peer = 0; peer < kReplicas; ++peer) {
        if (peer != i) choice.Add(peer);
      }
      for (const size_t peer : choice.Choose(0)) {
        links[i].insert(peer);
        links[peer].insert(i);
      }
    }
    std::set<size_t> reached = {0};
    std::vector<size_t> next = {0};
    while (!next.empty()) {
      const size_t at = next.back();
      next.pop_back();
      for (const size_t peer : links[at]) {
        if (reached.insert(peer).second) next.push_back(peer);
      }
    }
    EXPECT_THAT(reached, SizeIs(kReplicas)) << seed;
  }
}

TEST_F(ChoiceTest, WhoIsNotReachedIsReplaced) {
  Start(3, 20);
  const size_t silent = *chosen_.begin();
  down_ = {silent};
  Run(kReplaceMs - 200);
  EXPECT_EQ(chosen_.count(silent), 1u) << "not so soon";
  EXPECT_THAT(ever_, SizeIs(3));
  Run(1'000);
  EXPECT_EQ(chosen_.count(silent), 0u);
  EXPECT_THAT(chosen_, SizeIs(3));
  EXPECT_THAT(ever_, SizeIs(4)) << "the others stay";
}

TEST_F(ChoiceTest, AStreamThatIsSoonBackIsNoReason) {
  Start(3, 20);
  const std::set<size_t> first = chosen_;
  for (int i = 0; i < 20; ++i) {
    down_ = first;
    Run(kReplaceMs / 2);
    down_ = {};
    Run(1'000);
  }
  EXPECT_EQ(chosen_, first);
}

TEST_F(ChoiceTest, NobodyIsReplacedWhileNoStreamIsWanted) {
  Start(3, 20);
  const std::set<size_t> first = chosen_;
  for (const size_t peer : first) choice_->Closed(peer, now_ms_);
  for (int i = 0; i < 100; ++i) {
    now_ms_ += 1'000;
    for (const size_t peer : first) choice_->NoneWanted(peer, now_ms_);
    Choose();
  }
  EXPECT_EQ(chosen_, first);
}

TEST_F(ChoiceTest, OfWhomFewAreUpTheseAreFound) {
  Start(3, 20);
  for (size_t peer = 0; peer < 17; ++peer) down_.insert(peer);
  seen_ = [&] { EXPECT_THAT(chosen_, SizeIs(3)); };
  Run(18 * kReplaceMs);
  EXPECT_EQ(chosen_, (std::set<size_t>{17, 18, 19}));
}

TEST_F(ChoiceTest, TheOldestMakesRoomNowAndThen) {
  Start(3, 20);
  std::set<size_t> before = chosen_;
  int changes = 0;
  seen_ = [&] {
    EXPECT_THAT(chosen_, SizeIs(3));
    if (chosen_ == before) return;
    ++changes;
    std::set<size_t> stay;
    for (const size_t peer : before) {
      if (chosen_.count(peer) > 0) stay.insert(peer);
    }
    EXPECT_THAT(stay, SizeIs(2)) << "one at a time";
    before = chosen_;
  };
  Run(40 * kRenewMs);
  EXPECT_GE(changes, 32);
  EXPECT_LE(changes, 54);
  EXPECT_THAT(ever_, SizeIs(20)) << "each comes to be a neighbour";
}

TEST_F(ChoiceTest, PeersComeAndGo) {
  Start(3, 3);
  choice_->Remove(1);
  choice_->Add(7);
  choice_->Add(7);
  Choose();
  EXPECT_EQ(chosen_, (std::set<size_t>{0, 2, 7}));
  choice_->Add(8);
  Run(1'000);
  EXPECT_EQ(chosen_, (std::set<size_t>{0, 2, 7})) << "who stays is left alone";
  choice_->Remove(0);
  Choose();
  EXPECT_EQ(chosen_, (std::set<size_t>{2, 7, 8}));
  choice_->Open(0, "");
  choice_->Closed(0, now_ms_);
  Run(1'000);
  EXPECT_EQ(chosen_, (std::set<size_t>{2, 7, 8}));
}

// 0 to 19 are in the own zone, 20 to 39 in another, 40 to 59 in a third.
class ZonesTest : public ChoiceTest {
 protected:
  void SetUp() override {
    for (size_t peer = 0; peer < 60; ++peer) {
      zones_[peer] = peer < 20 ? "here" : peer < 40 ? "there" : "yonder";
    }
  }
};

TEST_F(ZonesTest, SoManyInTheOwnZoneAndOneInEachOther) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Start(4, 60, "here", seed);
    // Those in the own zone, in each other, and those that are tried.
    seen_ = [&] { EXPECT_LE(chosen_.size(), 4u + 2u + 4u); };
    Run(kReplaceMs);
    EXPECT_EQ(ChosenByZone(), (std::map<std::string, size_t>{
                                  {"here", 4}, {"there", 1}, {"yonder", 1}}));
  }
}

TEST_F(ZonesTest, ALinkIntoAZoneIsReplacedByOneIntoThatZone) {
  Start(4, 60, "here");
  Run(kReplaceMs);
  for (size_t peer = 20; peer < 39; ++peer) down_.insert(peer);
  Run(25 * kReplaceMs);
  EXPECT_EQ(chosen_.count(39), 1u);
  EXPECT_EQ(ChosenByZone(), (std::map<std::string, size_t>{
                                {"here", 4}, {"there", 1}, {"yonder", 1}}));
}

TEST_F(ZonesTest, OfASmallZoneAllAreNeighbours) {
  for (size_t peer = 2; peer < 20; ++peer) zones_[peer] = "there";
  Start(4, 60, "here");
  Run(kReplaceMs);
  EXPECT_EQ(ChosenByZone(), (std::map<std::string, size_t>{
                                {"here", 2}, {"there", 1}, {"yonder", 1}}));
  EXPECT_TRUE(chosen_.count(0) == 1 && chosen_.count(1) == 1);
}

// One at a time is tried, and takes nobody's place.
TEST_F(ZonesTest, ThoseWhoseZoneIsNotKnownAreTriedOnAndOn) {
  for (size_t peer = 0; peer < 60; peer += 2) down_.insert(peer);
  Start(4, 60, "here");
  Run(30 * kReplaceMs);
  std::set<size_t> up;
  std::set<size_t> tried;
  for (int i = 0; i < 40; ++i) {
    Run(kReplaceMs);
    size_t down = 0;
    for (const size_t peer : chosen_) {
      (down_.count(peer) > 0 ? tried : up).insert(peer);
      down += down_.count(peer);
    }
    EXPECT_LE(down, 1u);
    EXPECT_EQ(chosen_.size() - down, 6u);
  }
  EXPECT_THAT(tried, SizeIs(30));
}

// Everybody has chosen, and each stream that one of the two dials is open.
void JoinByChoice(SpreadWorld* world, size_t most,
                  const std::function<std::string(size_t)>& zone_of) {
  for (size_t i = 0; i < world->size(); ++i) {
    world->SetZone(i, zone_of(i));
  }
  std::set<std::pair<size_t, size_t>> joined;
  for (size_t i = 0; i < world->size(); ++i) {
    NeighbourChoice choice({.most = most, .zone = zone_of(i)},
                           world->NextRandom());
    for (size_t peer = 0; peer < world->size(); ++peer) {
      if (peer != i) choice.Add(peer);
    }
    std::set<size_t> chosen;
    for (uint64_t now_ms = 0; now_ms < world->size(); ++now_ms) {
      chosen = choice.Choose(now_ms);
      for (const size_t peer : chosen) choice.Open(peer, zone_of(peer));
    }
    for (const size_t peer : chosen) {
      if (!joined.insert(std::minmax(i, peer)).second) continue;
      world->Join(i, peer);
    }
  }
  world->Run(1'000);
}

TEST(NeighboursSpreadTest, WhatEachWritesIsEverywhere) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SpreadWorld world(24, seed);
    JoinByChoice(&world, 3, [](size_t) { return ""; });
    WriteAll(&world, 5);
    EXPECT_EQ(world.Lacking(), 0u);
    // Once trees are found each change comes to each replica about once.
    world.pushed = 0;
    WriteAll(&world, 5);
    EXPECT_EQ(world.Lacking(), 0u);
    EXPECT_LE(world.pushed, 5u * 24 * 23 * 11 / 10);
  }
}

TEST(NeighboursSpreadTest, InZonesOfWhateverSizes) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SpreadWorld world(24, seed);
    JoinByChoice(&world, 3, [](size_t i) {
      return i < 2 ? "tiny" : i < 10 ? "north" : "south";
    });
    WriteAll(&world, 5);
    world.Run(2'000);
    EXPECT_EQ(world.Lacking(), 0u);
  }
}

}  // namespace
}  // namespace rocksync

#include "replication/stream/spread.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/spread_world.h"

namespace rocksync {
namespace {

TEST(Spread, InAMeshTheWriterAloneSends) {
  for (const size_t replicas : {2, 3, 5}) {
    SpreadWorld world(replicas);
    world.Mesh();
    for (size_t i = 0; i < replicas; ++i) EXPECT_TRUE(world.spread(i).meshed());
    WriteAll(&world, 100);
    EXPECT_EQ(world.Lacking(), 0u);
    EXPECT_EQ(world.pushed, 100 * replicas * (replicas - 1));
    EXPECT_EQ(world.duplicates, 0u);
    EXPECT_EQ(world.announced, 0u);
  }
}

// A session with a replica that has no stream from here, as while it connects
// anew, brings what the others of the mesh know nothing of.
TEST(Spread, InAMeshWhatAStrangerBringsIsPassedOn) {
  Spread spread(1, {}, {});
  spread.Connect({2, ""});
  spread.SetNeighbours(2, {{1, ""}});
  ASSERT_TRUE(spread.meshed());
  EXPECT_FALSE(spread.NeedsHash(0));
  EXPECT_FALSE(spread.NeedsHash(2));
  EXPECT_TRUE(spread.NeedsHash(3));
  EXPECT_EQ(spread.WayTo(2, {7, 3, 3}, 0), Spread::Way::kPush);
  EXPECT_EQ(spread.WayTo(2, {8, 3, 3}, 0), Spread::Way::kPush);
  EXPECT_EQ(spread.WayTo(2, {0, 2, 2}, 0), Spread::Way::kNone);
  // What came from a neighbour is sent by itself to all.
  spread.Connect({3, ""});
  spread.SetNeighbours(2, {{1, ""}, {3, ""}});
  spread.SetNeighbours(3, {{1, ""}, {2, ""}});
  ASSERT_TRUE(spread.meshed());
  EXPECT_EQ(spread.WayTo(2, {0, 3, 3}, 0), Spread::Way::kNone);
}

// A peer may name any.
TEST(Spread, OriginsThatAPeerPrunesAreBounded) {
  SpreadOptions options;
  options.max_lazy = 3;
  Spread spread(1, options, {});
  spread.Connect({2, ""});
  ASSERT_FALSE(spread.meshed());
  for (uint64_t origin = 100; origin < 110; ++origin) {
    spread.OnPrune(2, origin);
    EXPECT_EQ(spread.WayTo(2, {origin, origin, 3}, 0), Spread::Way::kAnnounce);
  }
  int announced = 0;
  for (uint64_t origin = 100; origin < 110; ++origin) {
    const Spreading change{origin + 1000, origin, 3};
    announced += spread.WayTo(2, change, 0) == Spread::Way::kAnnounce ? 1 : 0;
  }
  EXPECT_EQ(announced, 3);
}

TEST(Spread, ALineAndAStarArePassedOn) {
  SpreadWorld line(5);
  for (size_t i = 1; i < 5; ++i) line.Join(i - 1, i);
  line.Run(1000);
  WriteAll(&line, 50);
  EXPECT_EQ(line.Lacking(), 0u);
  EXPECT_EQ(line.pushed, 50u * 5 * 4);
  SpreadWorld star(6);
  for (size_t i = 1; i < 6; ++i) star.Join(0, i);
  star.Run(1000);
  WriteAll(&star, 50);
  EXPECT_EQ(star.Lacking(), 0u);
  EXPECT_EQ(star.pushed, 50u * 6 * 5);
}

TEST(Spread, ARingOfEightSendsOnce) {
  SpreadWorld world(8);
  world.Ring();
  WriteAll(&world, 300);
  EXPECT_EQ(world.Lacking(), 0u);
  EXPECT_LE(world.duplicates, 300u * 8 * 7 / 100) << "1 %";
}

TEST(Spread, FiftyReplicasOfSixNeighboursEachSendOnce) {
  SpreadWorld world(50);
  world.RandomGraph(6);
  WriteAll(&world, 6);  // finds the trees
  EXPECT_EQ(world.Lacking(), 0u);
  world.pushed = 0;
  world.duplicates = 0;
  WriteAll(&world, 6);
  EXPECT_EQ(world.Lacking(), 0u);
  EXPECT_LE(world.duplicates, 6u * 50 * 49 / 100) << "1 %";
  EXPECT_LE(world.pushed, 6u * 50 * 49 * 101 / 100);
}

TEST(Spread, WhenARelayDiesOthersTakeOver) {
  SpreadWorld world(8);
  world.Ring();
  WriteAll(&world, 20);
  world.Kill(3);
  world.Run(1);
  for (int i = 0; i < 50; ++i) {
    world.Write(0);
    world.Run(1);
  }
  world.Run(1000);
  EXPECT_EQ(world.Lacking(), 0u) << "the ring is a line now";
}

TEST(Spread, WhenARelayHangsTheOthersAskForWhatTheyAreAnnounced) {
  SpreadWorld world(8);
  world.Ring();
  WriteAll(&world, 20);
  world.Hang(2);
  for (int i = 0; i < 50; ++i) {
    world.Write(0);
    world.Run(1);
  }
  world.Run(1000);
  EXPECT_EQ(world.Lacking(), 0u);
  // And it keeps going round the other way.
  const uint64_t announced = world.announced;
  for (int i = 0; i < 50; ++i) world.Write(0);
  world.Run(100);
  EXPECT_EQ(world.Lacking(), 0u) << "at once, " << announced;
}

TEST(Spread, WhatIsLostIsAskedFor) {
  SpreadWorld world(20, 5);
  world.RandomGraph(5);
  WriteAll(&world, 20);
  world.loss = 0.01;
  WriteAll(&world, 30);
  world.loss = 0;
  world.Run(2000);
  // A replica with one neighbour is announced nothing.
  EXPECT_LE(world.Lacking(), 30u * 20 * 19 / 500);
}

SpreadWorld* TwoZones(SpreadWorld* world) {
  for (size_t i = 0; i < 6; ++i) world->SetZone(i, i < 3 ? "north" : "south");
  world->Mesh();
  return world;
}

TEST(Spread, BetweenZonesEachChangeCrossesOnce) {
  SpreadWorld world(6);
  TwoZones(&world);
  EXPECT_FALSE(world.spread(0).meshed());
  WriteAll(&world, 100);
  EXPECT_EQ(world.Lacking(), 0u);
  EXPECT_EQ(world.across, 600u);
  EXPECT_EQ(world.duplicates, 0u);
}

TEST(Spread, ZonesJoinedByOneLink) {
  SpreadWorld world(6);
  for (size_t i = 0; i < 6; ++i) world.SetZone(i, i < 3 ? "north" : "south");
  for (const auto& [a, b] :
       {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2), std::pair(3, 4),
        std::pair(3, 5), std::pair(4, 5), std::pair(1, 4)}) {
    world.Join(static_cast<size_t>(a), static_cast<size_t>(b));
  }
  world.Run(1000);
  WriteAll(&world, 100);
  EXPECT_EQ(world.Lacking(), 0u);
  EXPECT_EQ(world.across, 600u);
  EXPECT_EQ(world.duplicates, 0u);
}

TEST(Spread, WhenWhoGetsWhatCrossesHangsAnotherAsksForIt) {
  SpreadWorld world(6);
  TwoZones(&world);
  world.Hang(3);  // the first of the south
  for (int i = 0; i < 20; ++i) {
    world.Write(0);
    world.Run(1);
  }
  world.Run(1000);
  EXPECT_EQ(world.Lacking(), 0u);
}

// A filter that forgets nothing would take everything for known in the end.
TEST(Spread, FiltersAge) {
  SpreadOptions small;
  small.filter.max_bytes = kMinSlidingWindowBytes;
  small.filter.window_ms = 1000;
  SpreadWorld world(3, 7, small);
  world.Join(0, 1);
  world.Join(1, 2);
  world.Run(100);
  for (int i = 0; i < 30'000; ++i) {
    world.Write(0);
    world.Run(1);
  }
  world.Run(100);
  EXPECT_EQ(world.Lacking(), 0u);
}

TEST(Spread, SaysWhoHasLostWhom) {
  Spread spread(1, {}, {});
  for (const uint64_t peer : {2, 3, 4}) spread.Connect({peer, ""});
  EXPECT_TRUE(spread.SetNeighbours(2, {{1, ""}, {3, ""}, {9, ""}}).empty());
  EXPECT_TRUE(spread.SetNeighbours(2, {{1, ""}, {3, ""}}).empty())
      << "9 is not a neighbour here";
  EXPECT_EQ(spread.SetNeighbours(2, {{1, ""}}), std::vector<uint64_t>{3});
  EXPECT_TRUE(spread.SetNeighbours(7, {{3, ""}}).empty()) << "who is that?";
}

TEST(Spread, WhatNobodyIsLeftToAskForIsGivenUp) {
  Spread spread(1, {}, {});
  spread.Connect({2, ""});
  const ShortHash hash = 77;
  spread.OnAnnounce(2, {&hash, 1}, 1000);
  EXPECT_EQ(spread.NextDueMs(), 1200u);
  EXPECT_TRUE(spread.DueGrafts(1199).empty());
  spread.Disconnect(2);
  EXPECT_TRUE(spread.DueGrafts(1200).empty());
  EXPECT_EQ(spread.lost(), 1u);
  EXPECT_EQ(spread.NextDueMs(), UINT64_MAX);
}

}  // namespace
}  // namespace rocksync

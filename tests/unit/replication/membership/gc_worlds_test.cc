// Everything that can happen to a few replicas that delete, meet, crash and
// forget, one step at a time.

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sanitized.h"
#include "tests/simulation/random.h"
#include "tests/unit/replication/membership/gc_world.h"

namespace rocksync {
namespace {

struct Explored {
  size_t states = 0;
  size_t forgot = 0;  // in which all had collected the tombstone
  std::string violation;
};

// Breadth first, so what is found is as short as can be.
Explored Explore(const WorldShape& shape, size_t max_states) {
  struct Node {
    GcWorld world;
    std::string path;
  };
  Explored explored;
  std::unordered_set<std::string> seen;
  std::vector<Node> level{{GcWorld(shape), ""}};
  while (!level.empty() && seen.size() < max_states) {
    std::vector<Node> next;
    for (const Node& node : level) {
      node.world.ForEachStep(
          [&](const GcWorld& world, const std::string& step) {
            if (!explored.violation.empty() || seen.size() >= max_states ||
                !seen.insert(world.Fingerprint()).second) {
              return;
            }
            std::string path = node.path + step + "; ";
            if (!world.violation().empty()) {
              explored.violation = path + world.violation();
            }
            explored.forgot += world.collected_all() ? 1 : 0;
            next.push_back({world, std::move(path)});
          });
      if (!explored.violation.empty()) break;
    }
    level = std::move(next);
    if (!explored.violation.empty()) break;
  }
  explored.states = seen.size();
  return explored;
}

// All that can happen, as far as so many states go, and then further than that
// along random walks.
struct Extent {
  size_t states = 20'000;
  uint64_t walks = 400;
};
constexpr Extent kFull;
// Sanitizers look at the code, and more states are no more code.
constexpr Extent kExtent = kSanitized ? Extent{4'000, 80} : kFull;
constexpr int kSteps = 50;

Explored Walk(const WorldShape& shape, uint64_t seed) {
  Explored explored;
  Random random(seed);
  GcWorld world(shape);
  std::string path;
  for (int i = 0; i < kSteps && explored.violation.empty(); ++i) {
    uint64_t steps = 0;
    std::string taken;
    GcWorld next = world;
    world.ForEachStep([&](const GcWorld& one, const std::string& step) {
      if (!random.OneIn(++steps)) return;
      next = one;
      taken = step;
    });
    world = std::move(next);
    path += taken + "; ";
    if (!world.violation().empty())
      explored.violation = path + world.violation();
    ++explored.states;
    explored.forgot += world.collected_all() ? 1 : 0;
  }
  return explored;
}

Explored Try(const WorldShape& shape, const Extent& extent = kExtent) {
  Explored all = Explore(shape, extent.states);
  for (uint64_t seed = 1; seed <= extent.walks && all.violation.empty();
       ++seed) {
    const Explored one = Walk(shape, seed);
    all.violation = one.violation;
    all.states += one.states;
    all.forgot += one.forgot;
  }
  return all;
}

WorldShape Deletes() { return {.deletes = 2}; }
WorldShape Crashes() { return {.crashes = 1, .broken = 1}; }
WorldShape Late() { return {.connects = 2}; }
WorldShape Removal() { return {.broken = 1, .removes = 1}; }
WorldShape Restarts() { return {.deletes = 2, .crashes = 2}; }
WorldShape EmptyNewMember() {
  return {.founders = 2, .deletes = 2, .admits = true};
}
WorldShape OldNewMember() {
  return {.founders = 2, .admits = true, .old_new_members = 1};
}

class WorldTest : public testing::TestWithParam<WorldShape> {};

TEST_P(WorldTest, NoMemberLacksWhatIsCollected) {
  const Explored explored = Try(GetParam());
  EXPECT_EQ(explored.violation, "");
  EXPECT_GT(explored.forgot, 0u) << explored.states;
}

INSTANTIATE_TEST_SUITE_P(Shapes, WorldTest,
                         testing::Values(Deletes(), Crashes(), Late(),
                                         Removal(), Restarts(),
                                         EmptyNewMember()));

// There is nothing to forget together: it stays out of reach, or comes in time.
TEST(OldNewMemberTest, BringsNothingBack) {
  EXPECT_EQ(Try(OldNewMember()).violation, "");
}

// The new list is set on anybody, and whoever has it may go.
WorldShape OldNewMemberAndLoss() {
  return {.founders = 2,
          .broken = 1,
          .admits = true,
          .anywhere = true,
          .losses = 1,
          .old_new_members = 1};
}
// Two new members, one of them empty.
WorldShape TwoNewMember() {
  return {.replicas = 4,
          .founders = 2,
          .ticks = 0,
          .broken = 1,
          .admits = true,
          .anywhere = true,
          .losses = 1,
          .old_new_members = 1};
}
// It has deletes of its own, from before it is listed.
WorldShape NewMemberThatDeletes() {
  WorldShape shape = OldNewMemberAndLoss();
  shape.deletes = 2;
  shape.outside_deletes = true;
  return shape;
}

// What is purged stays known, whatever the stable time does.
TEST(OldNewMemberTest, BringsNothingBackInAnyList) {
  EXPECT_EQ(Try(OldNewMemberAndLoss()).violation, "");
  EXPECT_EQ(Try(TwoNewMember()).violation, "");
  EXPECT_EQ(Try(NewMemberThatDeletes()).violation, "");
}

WorldShape Clones() { return {.ticks = 2, .copies = 1}; }
WorldShape ClonesThatRestart() {
  return {.deletes = 2, .ticks = 2, .crashes = 1, .copies = 1, .broken = 1};
}

WorldShape ClonesOfLate() { return {.ticks = 2, .copies = 1, .connects = 1}; }

// Whoever meets the copy knows one replica, whoever meets the original another.
TEST(ClonesTest, AreNotTakenForOne) {
  EXPECT_EQ(Try(Clones()).violation, "");
  EXPECT_EQ(Try(ClonesThatRestart()).violation, "");
  EXPECT_EQ(Try(ClonesOfLate()).violation, "");
}

std::string Violation(WorldShape shape, GcFault fault) {
  shape.fault = fault;
  return Try(shape, kFull).violation;
}

TEST(WorldFaultTest, IsFound) {
  EXPECT_NE(Violation(Deletes(), GcFault::kCollectLocally), "");
  EXPECT_NE(Violation(Crashes(), GcFault::kCountUnsynced), "");
  EXPECT_NE(Violation(OldNewMember(), GcFault::kLetAnybodyIn), "");
  EXPECT_NE(Violation(Clones(), GcFault::kClonesForOne), "");
}

// What becomes of a world that takes these steps.
std::string Follow(const WorldShape& shape,
                   const std::vector<std::string>& script) {
  GcWorld world(shape);
  for (const std::string& wanted : script) {
    std::optional<GcWorld> next;
    world.ForEachStep([&](const GcWorld& one, const std::string& step) {
      if (step == wanted) next = one;
    });
    if (!next) return "nobody can: " + wanted;
    world = *std::move(next);
    if (!world.violation().empty()) return wanted + ": " + world.violation();
  }
  return "";
}

// 0 has collected what 1 acknowledged and has not heard of; the list of epoch 2
// is set on 1, so the stable time falls back; 1 is lost; 2 still has the pair.
TEST(WorldFaultTest, GuardsDoNotGoByTheStableTime) {
  WorldShape shape = OldNewMemberAndLoss();
  std::vector<std::string> script = {
      "delete at 0",     "0 meets 1",    "0 meets 1", "0 meets 1",
      "a new list at 1", "advance at 0", "0 meets 1", "0 connects to 1",
      "loss of 1",       "0 meets 2"};
  shape.connects = 1;
  EXPECT_EQ(Follow(shape, script), "");
  shape.fault = GcFault::kByStableTime;
  EXPECT_EQ(Follow(shape, script), "");
  script.emplace_back("0 meets 2");
  EXPECT_EQ(Follow(shape, script), "0 meets 2: a deleted key lives again at 0");
  shape.fault = GcFault::kNone;
  EXPECT_EQ(Follow(shape, script), "");
}

// The pair of 3 reaches 2, which came in empty by way of 1; 0 has collected.
TEST(WorldFaultTest, WhoIsBeingFilledHandsNothingOldOn) {
  WorldShape shape = TwoNewMember();
  const std::vector<std::string> script = {
      "delete at 0",           "0 meets 1", "0 meets 1", "0 meets 1",
      "a new list at 1",       "1 meets 2", "1 meets 3", "advance at 0",
      "a pair of 3 reaches 2", "0 meets 1", "0 meets 2"};
  EXPECT_EQ(Follow(shape, script), "");
  shape.fault = GcFault::kBootstrappingCounts;
  EXPECT_EQ(Follow(shape, script), "0 meets 2: a deleted key lives again at 0");
}

// 2 deletes the key before it is listed, at a time that 0 has collected up to.
TEST(WorldFaultTest, OfEarlierStableTimeTheSmallerCounts) {
  WorldShape shape = NewMemberThatDeletes();
  const std::vector<std::string> script = {
      "tick at 0",    "0 meets 1",   "0 meets 1",       "0 meets 1",
      "advance at 0", "delete at 2", "a new list at 1", "1 meets 2",
      "1 meets 2",    "0 meets 1",   "0 meets 1"};
  EXPECT_EQ(Follow(shape, script), "");
  shape.fault = GcFault::kLargerStableTime;
  EXPECT_EQ(Follow(shape, script), "0 meets 1: a deleted key lives again at 1");
}

// 1 reads its clock before it gets the tombstone, and 0 loses it.
TEST(WorldFaultTest, WhatTravelsIsSyncedFirst) {
  WorldShape shape = {.crashes = 1, .broken = 1};
  std::vector<std::string> script = {
      "tick at 1",  "1 meets 2", "delete at 0", "a pair of 0 reaches 1",
      "crash of 0", "0 meets 2", "0 meets 2",   "1 meets 2"};
  EXPECT_EQ(Follow(shape, script), "");
  script.push_back("advance at 1");
  shape.fault = GcFault::kShipUnsynced;
  EXPECT_EQ(Follow(shape, script),
            "advance at 1: 1 collects what 0 does not durably know");
}

// A connection is kept from before the copy was made, and used for what the
// original deleted after it: later than its reading when they connected.
TEST(ClonesTest, WhatIsTakenLateIsKnownToBeLate) {
  EXPECT_EQ(
      Follow(ClonesOfLate(),
             {"0 connects to 1", "a copy of 0", "tick at 1", "1 meets 2",
              "tick at 3", "2 meets 3", "2 meets 3", "delete at 0",
              "0 and 1 use their connection", "1 meets 3", "advance at 1"}),
      "nobody can: advance at 1");
}

// 3 hands its tombstone on to 1 before both hear that 3 is removed.
TEST(WorldFaultTest, ANewListStartsKnowledgeAnew) {
  WorldShape shape = {.replicas = 4, .founders = 4, .broken = 1, .removes = 1};
  std::vector<std::string> script = {
      "tick at 1",       "1 meets 2",   "0 meets 2",
      "0 meets 1",       "delete at 3", "a pair of 3 reaches 1",
      "a new list at 0", "0 meets 1",   "0 meets 2",
      "0 meets 2",       "0 meets 2",   "1 meets 2"};
  EXPECT_EQ(Follow(shape, script), "");
  script.push_back("advance at 1");
  EXPECT_EQ(Follow(shape, script), "nobody can: advance at 1");
  shape.fault = GcFault::kKeepProofs;
  EXPECT_EQ(Follow(shape, script),
            "advance at 1: 1 collects what 0 does not durably know");
}

}  // namespace
}  // namespace rocksync

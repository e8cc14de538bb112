// The simulation itself: a seed replays bit for bit, and planted faults are
// caught.

#include "tests/simulation/cluster.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rocksync {
namespace {

ClusterResult RunSeed(uint64_t seed) {
  ClusterOptions options;
  options.seed = seed;
  return RunCluster(options);
}

TEST(ClusterTest, ASeedReplaysBitForBit) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const ClusterResult first = RunSeed(seed);
    const ClusterResult second = RunSeed(seed);
    EXPECT_EQ(first.fingerprint, second.fingerprint) << seed;
    EXPECT_EQ(first.pairs_sent, second.pairs_sent) << seed;
    EXPECT_TRUE(first.violations.empty()) << first.violations[0];
  }
}

TEST(ClusterTest, TwoSeedsDiffer) {
  EXPECT_NE(RunSeed(1).fingerprint, RunSeed(2).fingerprint);
}

TEST(ClusterTest, ATraceIsReadable) {
  std::vector<std::string> lines;
  ClusterOptions options;
  options.trace = [&lines](std::string_view line) { lines.emplace_back(line); };
  const ClusterResult traced = RunCluster(options);
  EXPECT_EQ(traced.fingerprint, RunSeed(options.seed).fingerprint);
  ASSERT_GT(lines.size(), 100u);
  EXPECT_NE(lines[0].find("replicas in a"), std::string::npos);
}

// A planted fault, from which seed on it is looked for, and how far. Those that
// show in one seed of some hundred have one that is near; when seeds come to
// mean something else, another will be found.
struct Planted {
  ClusterOptions options;
  uint64_t first_seed = 1;
  uint64_t seeds = 40;
};
constexpr uint64_t kMany = 2000;

// How a fault is caught in the first seed in which it is.
std::string Catch(const Planted& planted) {
  ClusterOptions options = planted.options;
  const uint64_t end = planted.first_seed + planted.seeds;
  for (options.seed = planted.first_seed; options.seed < end; ++options.seed) {
    const ClusterResult result = RunCluster(options);
    if (!result.violations.empty()) return result.violations[0];
  }
  return "nothing was caught";
}

class PlantedFaultTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFaultTest, IsCaught) {
  const std::string caught = Catch(GetParam());
  EXPECT_NE(caught, "nothing was caught");
  RecordProperty("caught", caught);
}

Planted With(PlantedFault fault, uint64_t first_seed = 1, uint64_t seeds = 40) {
  Planted planted{{}, first_seed, seeds};
  planted.options.storage_fault = fault;
  return planted;
}
Planted With(ClusterFault fault, uint64_t first_seed = 1, uint64_t seeds = 40) {
  Planted planted{{}, first_seed, seeds};
  planted.options.cluster_fault = fault;
  return planted;
}
Planted With(MemberFault fault, uint64_t first_seed = 1, uint64_t seeds = 40) {
  Planted planted{{}, first_seed, seeds};
  planted.options.member_fault = fault;
  return planted;
}

INSTANTIATE_TEST_SUITE_P(
    OfOneReplica, PlantedFaultTest,
    testing::Values(With(PlantedFault::kSkipTombstone),
                    With(PlantedFault::kDropTombstone),
                    With(PlantedFault::kDropIndexEntry),
                    With(PlantedFault::kReinventVersion),
                    With(PlantedFault::kAcceptStaleVersion),
                    With(PlantedFault::kForgetLimit),
                    With(PlantedFault::kSyncLies),
                    With(PlantedFault::kOfferCorrupt, 190, kMany)));
INSTANTIATE_TEST_SUITE_P(
    OfTheCluster, PlantedFaultTest,
    testing::Values(With(ClusterFault::kBelieveFilter),
                    With(ClusterFault::kIgnoreRollback),
                    With(ClusterFault::kReuseMapping),
                    With(ClusterFault::kActOnDecode),
                    With(ClusterFault::kForgetMemory, 175, kMany),
                    With(ClusterFault::kApplyLate, 720, kMany)));
INSTANTIATE_TEST_SUITE_P(
    OfGcState, PlantedFaultTest,
    testing::Values(With(MemberFault::kCollectLocally),
                    With(MemberFault::kNewMemberCounts),
                    With(MemberFault::kKeepProofs, 41),
                    With(MemberFault::kTakeRemovedBack),
                    With(MemberFault::kLetOldDataIn, 1040, kMany),
                    With(MemberFault::kTakeClonesForOne, 27'998, kMany)));

}  // namespace
}  // namespace rocksync

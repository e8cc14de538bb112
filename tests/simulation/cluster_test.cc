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

// The first of 40 seeds in which a fault is caught, and how.
std::string Catch(const ClusterOptions& fault) {
  ClusterOptions options = fault;
  for (options.seed = 1; options.seed <= 40; ++options.seed) {
    const ClusterResult result = RunCluster(options);
    if (!result.violations.empty()) return result.violations[0];
  }
  return "nothing was caught";
}

class PlantedFaultTest : public testing::TestWithParam<ClusterOptions> {};

TEST_P(PlantedFaultTest, IsCaught) {
  const std::string caught = Catch(GetParam());
  EXPECT_NE(caught, "nothing was caught");
  RecordProperty("caught", caught);
}

ClusterOptions With(PlantedFault fault) {
  ClusterOptions options;
  options.storage_fault = fault;
  return options;
}
ClusterOptions With(ClusterFault fault) {
  ClusterOptions options;
  options.cluster_fault = fault;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, PlantedFaultTest,
    testing::Values(
        With(PlantedFault::kSkipTombstone), With(PlantedFault::kDropTombstone),
        With(PlantedFault::kDropIndexEntry),
        With(PlantedFault::kReinventVersion),
        With(PlantedFault::kAcceptStaleVersion),
        With(PlantedFault::kForgetLimit), With(PlantedFault::kSyncLies),
        With(ClusterFault::kBelieveFilter), With(ClusterFault::kIgnoreRollback),
        With(ClusterFault::kReuseMapping)));

}  // namespace
}  // namespace rocksync

// The simulation itself: a seed replays bit for bit, and planted faults are
// caught.

#include "tests/simulation/cluster.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sanitized.h"

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

// What streams are checked for did happen.
TEST(ClusterTest, StreamsCarryRelayPruneAndLoseChanges) {
  ClusterResult sum;
  constexpr uint64_t kSeeds = kSanitized ? 10 : 30;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const ClusterResult result = RunSeed(seed);
    sum.streams += result.streams;
    sum.changes_streamed += result.changes_streamed;
    sum.changes_relayed += result.changes_relayed;
    sum.changes_given_up += result.changes_given_up;
    sum.gaps += result.gaps;
    sum.announced += result.announced;
    sum.prunes += result.prunes;
    sum.grafts += result.grafts;
  }
  EXPECT_GT(sum.streams, 3 * kSeeds);
  EXPECT_GT(sum.changes_streamed, 100 * kSeeds);
  EXPECT_GT(sum.changes_relayed, 30 * kSeeds);
  EXPECT_GT(sum.changes_given_up, 30 * kSeeds);
  EXPECT_GT(sum.gaps, 3 * kSeeds);
  EXPECT_GT(sum.announced, 3 * kSeeds);
  EXPECT_GT(sum.prunes, kSeeds);
  EXPECT_GT(sum.grafts, kSeeds);
}

TEST(ClusterTest, WithoutStreamsNoneIsOpened) {
  ClusterOptions options;
  options.streams = false;
  for (options.seed = 1; options.seed <= 5; ++options.seed) {
    const ClusterResult result = RunCluster(options);
    EXPECT_TRUE(result.violations.empty()) << result.violations[0];
    EXPECT_EQ(result.streams, 0u);
  }
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
  if (kSanitized) GTEST_SKIP() << "a sanitizer sees nothing more in it";
  const std::string caught = Catch(GetParam());
  EXPECT_NE(caught, "nothing was caught");
  RecordProperty("caught", caught);
}

Planted With(PlantedFault fault, uint64_t first_seed = 1) {
  Planted planted{{}, first_seed};
  planted.options.storage_fault = fault;
  return planted;
}
Planted With(ClusterFault fault, uint64_t first_seed = 1) {
  Planted planted{{}, first_seed};
  planted.options.cluster_fault = fault;
  return planted;
}
Planted With(MemberFault fault, uint64_t first_seed = 1) {
  Planted planted{{}, first_seed};
  planted.options.member_fault = fault;
  return planted;
}

// What shows in few seeds of sessions alone is looked for in those: with
// streams each seed would be another run, and take longer.
Planted Rare(Planted planted) {
  planted.options.streams = false;
  planted.seeds = kMany;
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
                    Rare(With(PlantedFault::kOfferCorrupt, 190))));
INSTANTIATE_TEST_SUITE_P(
    OfTheCluster, PlantedFaultTest,
    testing::Values(With(ClusterFault::kBelieveFilter),
                    With(ClusterFault::kIgnoreRollback),
                    With(ClusterFault::kReuseMapping),
                    With(ClusterFault::kActOnDecode),
                    Rare(With(ClusterFault::kForgetMemory, 175)),
                    Rare(With(ClusterFault::kApplyLate, 720))));
INSTANTIATE_TEST_SUITE_P(OfStreams, PlantedFaultTest,
                         testing::Values(With(ClusterFault::kStreamUnsynced),
                                         With(ClusterFault::kRelayAnyEpoch),
                                         With(ClusterFault::kWindowNeverAges),
                                         With(ClusterFault::kIgnoreGap)));
INSTANTIATE_TEST_SUITE_P(
    OfGcState, PlantedFaultTest,
    testing::Values(With(MemberFault::kCollectLocally),
                    With(MemberFault::kNewMemberCounts),
                    With(MemberFault::kKeepProofs, 41),
                    With(MemberFault::kTakeRemovedBack),
                    Rare(With(MemberFault::kLetOldDataIn, 1040)),
                    Rare(With(MemberFault::kTakeClonesForOne, 27'998))));

}  // namespace
}  // namespace rocksync

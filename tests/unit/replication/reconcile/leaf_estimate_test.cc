#include "replication/reconcile/leaf_estimate.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/replication/reconcile/leaf_replicas.h"

namespace rocksync {
namespace {

constexpr MappingSeed kSeed = {5};

class LeafEstimatorTest : public testing::Test {
 protected:
  LeafEstimator Of(const std::vector<Digest>& leaves,
                   Prefer prefer = Prefer::kBytes) const {
    return {kSeed, leaves, &closed_, prefer};
  }

  std::vector<bool> closed_ = std::vector<bool>(kLeaves, false);
};

TEST_F(LeafEstimatorTest, TellsAboutHowManyDiffer) {
  for (const size_t differing : {40, 1000, 9000}) {
    const Replicas replicas = Differing(kLeaves, differing, 1);
    const auto truth = static_cast<double>(differing);
    for (const Prefer prefer : {Prefer::kBytes, Prefer::kRoundTrips}) {
      const LeafEstimator here = Of(replicas.a, prefer);
      const LeafEstimate estimate = here.Compare(Of(replicas.b, prefer).Make());
      EXPECT_FALSE(estimate.overwritten);
      EXPECT_GT(estimate.differing, truth / 3);
      EXPECT_LT(estimate.differing, truth * 3);
    }
  }
}

TEST_F(LeafEstimatorTest, TellsOverwrittenKeysFromNewOnes) {
  const Replicas replicas = Overwritten(kLeaves, 2000, 1);
  EXPECT_TRUE(Of(replicas.a).Compare(Of(replicas.b).Make()).overwritten);
}

TEST_F(LeafEstimatorTest, IsNearIfMadeForAboutAsManyAsDiffer) {
  for (const size_t differing : {1500, 5000, 12'000}) {
    const Replicas replicas = Differing(kLeaves, differing, 2);
    const auto truth = static_cast<double>(differing);
    for (const uint64_t expected : {differing / 2, differing, 2 * differing}) {
      const LeafEstimate fine =
          Of(replicas.a)
              .CompareFine(expected, Of(replicas.b).MakeFine(expected));
      EXPECT_TRUE(fine.fine);
      EXPECT_NEAR(fine.differing, truth, 0.2 * truth) << expected;
    }
  }
}

// If nearly half of the parities differ they tell only that it is far more.
TEST_F(LeafEstimatorTest, TellsThatFarMoreDiffer) {
  const Replicas replicas = Differing(kLeaves, 30'000, 3);
  for (const uint64_t expected : {1024, 2000}) {
    const LeafEstimate fine =
        Of(replicas.a).CompareFine(expected, Of(replicas.b).MakeFine(expected));
    EXPECT_GE(fine.differing, 2.5 * static_cast<double>(expected)) << expected;
  }
}

TEST_F(LeafEstimatorTest, LeavesOutWhatIsClosed) {
  const Replicas replicas = Differing(kLeaves, 3000, 4);
  for (const uint32_t leaf : replicas.differing) closed_[leaf] = true;
  const std::string theirs = Of(replicas.b).Make();
  EXPECT_EQ(Of(replicas.a).Make(), theirs);
  EXPECT_LT(Of(replicas.a).Compare(theirs).differing, 1);
  EXPECT_EQ(
      Of(replicas.a).CompareFine(3000, Of(replicas.b).MakeFine(3000)).differing,
      0);
}

// Leaves that new keys hit by chance tell how many keys there are.
TEST(ExpectNew, CountsKeysThatShareALeaf) {
  std::mt19937_64 random(5);
  for (const size_t keys : {1000, 65'536, 120'000}) {
    std::set<uint32_t> hit;
    for (size_t i = 0; i < keys; ++i) hit.insert(random() % kLeaves);
    const Expectation expected =
        ExpectNew(static_cast<double>(hit.size()), kLeaves);
    EXPECT_NEAR(expected.differences, static_cast<double>(keys),
                0.03 * static_cast<double>(keys));
    EXPECT_EQ(expected.overwritten, 0);
  }
}

std::vector<LeafDifference> LeavesThatDifferBy(
    const std::vector<std::pair<uint8_t, size_t>>& counts) {
  std::vector<LeafDifference> leaves;
  for (const auto& [count, number] : counts) {
    leaves.resize(leaves.size() + number, {.count = count});
  }
  return leaves;
}

TEST(ExpectInLeaves, TellsOverwrittenKeysFromNewOnes) {
  const auto expect = [](const auto& counts) {
    return ExpectInLeaves(LeavesThatDifferBy(counts), kLeaves);
  };
  using Counts = std::vector<std::pair<uint8_t, size_t>>;
  EXPECT_EQ(expect(Counts{}).differences, 0);
  // New keys, two of them in some leaves.
  const Expectation fresh =
      expect(Counts{{1, 2000}, {3, 2000}, {0, 70}, {2, 60}});
  EXPECT_EQ(fresh.overwritten, 0);
  EXPECT_EQ(fresh.differences, 4000 + 2 * 130);
  // Overwritten ones, several of them in some leaves.
  const Expectation overwritten = expect(Counts{{0, 9300}});
  EXPECT_NEAR(overwritten.overwritten, 10'033, 100);
  EXPECT_EQ(overwritten.differences, 2 * overwritten.overwritten);
  // Both.
  const Expectation both = expect(Counts{{1, 500}, {0, 1000}, {2, 10}});
  EXPECT_NEAR(both.overwritten, 1000, 50);
  EXPECT_NEAR(both.differences, 2 * both.overwritten + 540, 1);
  // All leaves, and one that may be overwritten or not.
  EXPECT_GT(expect(Counts{{0, kLeaves}}).overwritten, kLeaves);
  EXPECT_EQ(expect(Counts{{0, 1}}).overwritten, 0);
}

}  // namespace
}  // namespace rocksync

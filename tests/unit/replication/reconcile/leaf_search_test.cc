#include "replication/reconcile/leaf_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replication/reconcile/exchange_key_parities.h"
#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/leaf_symbols.h"
#include "tests/sanitized.h"
#include "tests/unit/replication/reconcile/leaf_replicas.h"

namespace rocksync {
namespace {

struct Outcome {
  absl::Status status;
  std::vector<uint32_t> found;
  double differences = 0;  // elements, as the search expects
  double overwritten = 0;  // keys
  size_t bytes = 0;
  int payloads = 0;
};

Outcome Search(const Replicas& replicas, const LeafSearchOptions& options,
               uint8_t seed, std::vector<bool> closed) {
  closed.resize(replicas.a.size(), false);
  const MappingSeed mapping_seed = {seed};
  LeafSearch sides[2] = {
      LeafSearch(Role::kInitiator, options, mapping_seed, replicas.a, closed),
      LeafSearch(Role::kResponder, options, mapping_seed, replicas.b, closed)};
  Outcome outcome;
  for (int speaker = 0; !sides[0].done() && !sides[1].done(); speaker ^= 1) {
    std::string payload;
    if (!sides[speaker].NextPayload(&payload) || outcome.payloads > 40) {
      outcome.status = absl::InternalError("nobody is done");
      return outcome;
    }
    outcome.bytes += payload.size();
    ++outcome.payloads;
    outcome.status = sides[speaker ^ 1].Receive(payload);
    if (!outcome.status.ok()) return outcome;
  }
  const LeafSearch& decoder = sides[sides[0].done() ? 0 : 1];
  outcome.found = decoder.missing_there();
  outcome.differences = decoder.report().estimated_differences;
  outcome.overwritten = decoder.report().estimated_overwritten;
  return outcome;
}

Outcome Search(const Replicas& replicas, Prefer prefer, uint8_t seed,
               std::vector<bool> closed = {}) {
  return Search(replicas, {.prefer = prefer}, seed, std::move(closed));
}

std::vector<uint32_t> List(const std::set<uint32_t>& set) {
  return {set.begin(), set.end()};
}

class LeafSearchTest : public ::testing::TestWithParam<Prefer> {};

TEST_P(LeafSearchTest, FindsLeavesWithAPairMoreOrLess) {
  for (const size_t differing : {0, 1, 3, 4, 10, 24, 30, 100, 1000, 9000}) {
    for (uint8_t seed = 0; seed < (kSanitized ? 1 : 2); ++seed) {
      const Replicas replicas = Differing(kLeaves, differing, seed);
      const Outcome outcome = Search(replicas, GetParam(), seed);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_EQ(outcome.found, List(replicas.differing)) << differing;
      EXPECT_EQ(outcome.differences, differing);
    }
  }
}

TEST_P(LeafSearchTest, TakesAFewSymbolsALeaf) {
  const struct {
    size_t differing;
    size_t bytes;
  } most[] = {{3, 80}, {10, 150}, {100, 600}, {1000, 3900}, {9000, 27000}};
  for (const auto& [differing, bytes] : most) {
    size_t sum = 0;
    for (uint8_t seed = 2; seed < 4; ++seed) {
      const Replicas replicas = Differing(kLeaves, differing, seed);
      sum += Search(replicas, GetParam(), seed).bytes;
    }
    const size_t limit = GetParam() == Prefer::kBytes ? bytes : bytes * 2;
    EXPECT_LE(sum / 2, limit) << differing;
  }
}

// A probe that is made for as many leaves as differ is all that is needed, and
// one that is not goes on like any other.
TEST_P(LeafSearchTest, AProbeIsMadeForWhatIsExpected) {
  for (const size_t differing : {1, 6, 60}) {
    if (kSanitized && differing > 6) break;  // these take long there
    for (uint8_t seed = 0; seed < (kSanitized ? 1 : 2); ++seed) {
      const Replicas replicas = Differing(kLeaves, differing, seed);
      for (const double expected : {0.2, 1.0, 4.0}) {
        const Outcome outcome =
            Search(replicas,
                   {.prefer = GetParam(),
                    .expected = expected * static_cast<double>(differing)},
                   seed, {});
        ASSERT_TRUE(outcome.status.ok()) << outcome.status;
        EXPECT_EQ(outcome.found, List(replicas.differing));
        if (expected == 1.0) {
          EXPECT_EQ(outcome.payloads, 1);
        }
      }
    }
  }
}

TEST_P(LeafSearchTest, FindsMostLeavesOfWhichAPairWasReplaced) {
  Replicas replicas = Differing(kLeaves, 0, 5);
  std::mt19937_64 random(6);
  size_t changed = 0;
  for (uint32_t leaf = 0; leaf < kLeaves; leaf += 64, ++changed) {
    replicas.b[leaf].high = random();
    replicas.b[leaf].low = random();
  }
  const Outcome outcome = Search(replicas, GetParam(), 7);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_GE(outcome.found.size(), changed * 95 / 100);
  // Some leaves may have several.
  EXPECT_EQ(outcome.differences, 2 * outcome.overwritten);
  EXPECT_GE(outcome.overwritten, outcome.found.size());
  EXPECT_LE(outcome.overwritten, 1.02 * static_cast<double>(changed));
  for (const uint32_t leaf : outcome.found) EXPECT_EQ(leaf % 64, 0u);
}

TEST_P(LeafSearchTest, NamesAllLeavesIfManyDiffer) {
  const Outcome outcome =
      Search(Differing(kLeaves, kLeaves / 2, 8), GetParam(), 8);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.found.size(), kLeaves);
  EXPECT_LT(outcome.bytes, 1400u);
}

// And tells by the fine parities how many keys are behind them.
TEST_P(LeafSearchTest, KnowsHowMuchDiffersInAllLeaves) {
  for (const size_t leaves : {20'000, 35'000, 51'000}) {
    const Outcome outcome =
        Search(Differing(kLeaves, leaves, 13), GetParam(), 13);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.found.size(), kLeaves);
    const double keys =
        ExpectNew(static_cast<double>(leaves), kLeaves).differences;
    EXPECT_NEAR(outcome.differences, keys, 0.2 * keys) << leaves;
  }
}

// Syndromes for far fewer leaves than differ are not decoded.
TEST(LeafSearchEstimate, GivesUpAtOnceIfFarTooMuchDiffers) {
  int far_too_low = 0;
  for (uint8_t seed = 0; seed < (kSanitized ? 4 : 100); ++seed) {
    const Outcome outcome =
        Search(Differing(kLeaves, 60'000, seed), Prefer::kBytes, seed);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.found.size(), kLeaves) << int{seed};
    EXPECT_LE(outcome.payloads, 3) << int{seed};
    far_too_low += outcome.bytes > 10'000 ? 1 : 0;
  }
  EXPECT_TRUE(kSanitized || far_too_low > 0) << "none was put to the test";
}

// The fine parities beside the first syndromes tell how many are wanted,
// however wrong the estimate was: probe, estimate, sums, and three times more
// at most.
TEST(LeafSearchEstimate, IsMendedAtOnceIfTooLow) {
  int all = 0;
  std::vector<size_t> bytes;
  for (uint8_t seed = 0; seed < (kSanitized ? 2 : 40); ++seed) {
    const Replicas replicas = Differing(kLeaves, 9000, seed);
    const Outcome outcome = Search(replicas, Prefer::kBytes, seed);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_LE(outcome.payloads, 9) << int{seed};
    if (outcome.found.size() == kLeaves) {
      ++all;
    } else {
      EXPECT_EQ(outcome.found, List(replicas.differing)) << int{seed};
      bytes.push_back(outcome.bytes);
    }
  }
  // Nor is one that is too high for a search believed at once, mostly.
  EXPECT_LE(all, 1);
  // 20 bits tell a leaf; the second pass leaves to the third what it may.
  std::sort(bytes.begin(), bytes.end());
  EXPECT_TRUE(kSanitized || bytes[bytes.size() / 2] < 25'000)
      << bytes[bytes.size() / 2];
}

// An estimate below a third of what differs, for which the fine parities are
// made: nearly half of them differ.
TEST(LeafSearchEstimate, IsMendedAtOnceIfFarTooLow) {
  constexpr uint8_t kLowestOf256 = 94;
  const Replicas replicas = Differing(kLeaves, 9000, kLowestOf256);
  const Outcome outcome = Search(replicas, Prefer::kBytes, kLowestOf256);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.found, List(replicas.differing));
  EXPECT_LE(outcome.payloads, 9);
}

TEST_P(LeafSearchTest, LeavesOutWhatIsClosed) {
  const Replicas replicas = Differing(kLeaves, 300, 9);
  std::vector<bool> closed(kLeaves, false);
  std::vector<uint32_t> open;
  for (const uint32_t leaf : replicas.differing) {
    closed[leaf] = leaf % 2 == 0;
    if (leaf % 2 != 0) open.push_back(leaf);
  }
  EXPECT_EQ(Search(replicas, GetParam(), 9, closed).found, open);
}

TEST_P(LeafSearchTest, TakesFewLeaves) {
  for (uint32_t leaves = 1; leaves <= 64; leaves *= 2) {
    for (uint8_t seed = 0; seed < 20; ++seed) {
      const size_t differing = 1 + seed % leaves;
      const Replicas replicas = Differing(leaves, differing, seed);
      const Outcome outcome = Search(replicas, GetParam(), seed);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status;
      for (const uint32_t leaf : replicas.differing) {
        EXPECT_TRUE(std::binary_search(outcome.found.begin(),
                                       outcome.found.end(), leaf))
            << leaf << " of " << leaves;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Prefer, LeafSearchTest,
                         ::testing::Values(Prefer::kBytes,
                                           Prefer::kRoundTrips));

// Where parities of keys may follow, many leaves in which keys were overwritten
// are read as a whole; few are not, nor those with new keys.
TEST(LeafSearchKeys, ReadsAllWhereManyKeysAreOverwritten) {
  const LeafSearchOptions options{.per_leaf = 15,
                                  .may_send_key_parities = true};
  for (uint8_t seed = 0; seed < 4; ++seed) {
    const Outcome many =
        Search(Overwritten(kLeaves, 13'000, seed), options, seed, {});
    EXPECT_EQ(many.found.size(), kLeaves);
    EXPECT_NEAR(many.overwritten, 14'500, 12'000);
    EXPECT_EQ(many.differences, 2 * many.overwritten);
    const Replicas few = Overwritten(kLeaves, 1000, seed);
    const std::vector<uint32_t> found = Search(few, options, seed, {}).found;
    EXPECT_GE(found.size(), 980u);
    EXPECT_TRUE(std::includes(few.differing.begin(), few.differing.end(),
                              found.begin(), found.end()));
    const Replicas inserted = Differing(kLeaves, 9000, seed);
    const Outcome outcome = Search(inserted, options, seed, {});
    EXPECT_EQ(outcome.found, List(inserted.differing));
    EXPECT_EQ(outcome.overwritten, 0);
  }
}

TEST(LeafSearchKeys, ReadingAllSavesForManyKeysOfFewElements) {
  EXPECT_TRUE(ReadingAllKeysSaves(1e6, 9300, kLeaves));
  EXPECT_FALSE(ReadingAllKeysSaves(1e6, 1000, kLeaves));
  EXPECT_TRUE(ReadingAllKeysSaves(2e5, 3000, kLeaves));
  EXPECT_FALSE(ReadingAllKeysSaves(2e5, 10, kLeaves));
  EXPECT_FALSE(ReadingAllKeysSaves(1e7, 9300, kLeaves));
  EXPECT_FALSE(ReadingAllKeysSaves(1e6, 0, kLeaves));
  EXPECT_FALSE(ReadingAllKeysSaves(0, kLeaves, kLeaves));
}

TEST(ReadingAll, PaysForManyOnOneSide) {
  EXPECT_TRUE(ReadingAllSaves(1e6, 1.01e6, kLeaves));
  EXPECT_TRUE(ReadingAllSaves(1e7, 1.01e7, kLeaves));
  EXPECT_FALSE(ReadingAllSaves(1e6, 1e6, kLeaves));
  EXPECT_FALSE(ReadingAllSaves(1e6, 1.001e6, kLeaves));
  EXPECT_FALSE(ReadingAllSaves(1e7, 1.001e7, kLeaves));
}

TEST(LeafSymbol, ShowsEachPairMoreOrLess) {
  const MappingKey key = {.high = 3, .low = 4};
  Digest digest = {.count = 7, .high = 1, .low = 2};
  const uint32_t before = LeafSymbol(digest, key, 8);
  digest.Add({.high = 0, .low = 0});
  EXPECT_NE(LeafSymbol(digest, key, 8), before);
  EXPECT_LT(before, 256u);
}

// What comes from a peer is refused by name, whatever it is.
TEST(LeafSearchMessages, AreCheckedBeforeTheyAreUsed) {
  const Replicas replicas = Differing(kLeaves, 1000, 10);
  const std::vector<bool> closed(kLeaves, false);
  const auto side = [&](Role role) {
    return LeafSearch(role, {}, {1}, replicas.a, closed);
  };
  std::string probe;
  ASSERT_TRUE(side(Role::kInitiator).NextPayload(&probe));
  const std::string bad_probes[] = {
      "",     "\x05", "\x01",      "\x02",
      "\x03", "\x04", probe + "x", probe.substr(0, probe.size() - 1)};
  for (const std::string& payload : bad_probes) {
    EXPECT_FALSE(side(Role::kResponder).Receive(payload).ok());
  }

  const std::string bad_sums[] = {
      std::string("\x02", 1),
      std::string("\x02\x11", 2),
      std::string("\x02\x20\x00", 3),
      std::string("\x02\x10", 2),
      std::string("\x02\x00\x01", 3),
      std::string("\x02\x00", 2),
      std::string("\x02\x05\x00"
                  "a",
                  4),
      std::string("\x02\x05\x81\x80\x04", 5) + std::string(300, 'a'),
      std::string("\x02\x05", 2) + "abc",
      std::string("\x02", 1) + std::string(1 << 20, 'x')};
  LeafSearch other(Role::kInitiator, {}, {1}, replicas.b, closed);
  std::string theirs;
  ASSERT_TRUE(other.NextPayload(&theirs));
  for (const std::string& payload : bad_sums) {
    LeafSearch responder = side(Role::kResponder);
    ASSERT_TRUE(responder.Receive(theirs).ok());
    std::string estimate;
    ASSERT_TRUE(responder.NextPayload(&estimate));
    EXPECT_FALSE(responder.Receive(payload).ok());
  }
}

}  // namespace
}  // namespace rocksync

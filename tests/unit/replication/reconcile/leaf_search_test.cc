#include "replication/reconcile/leaf_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replication/reconcile/exchange_key_parities.h"
#include "replication/reconcile/exchange_messages.h"
#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/finer_leaves.h"
#include "replication/reconcile/leaf_parity_plan.h"
#include "replication/reconcile/leaf_search_messages.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"
#include "sketch/parities/coupled_parities.h"
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
    // Wider symbols, and an estimate of 224 bytes before any is sent.
    const size_t limit =
        GetParam() == Prefer::kBytes ? bytes : bytes * 5 / 2 + 224;
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

// Parities of counts show the leaves that hold a pair more or less, whose
// symbols tell the others, too.
TEST_P(LeafSearchTest, FindsLeavesOfBothKinds) {
  for (const size_t odd : {1500, 3000, 6000}) {
    Replicas replicas = Differing(kLeaves, odd, 11);
    std::mt19937_64 random(12);
    while (replicas.differing.size() < 6000) {
      const auto leaf = static_cast<uint32_t>(random() % kLeaves);
      if (!replicas.differing.insert(leaf).second) continue;
      replicas.b[leaf].high = random();
      replicas.b[leaf].low = random();
    }
    const Outcome outcome = Search(replicas, GetParam(), 13);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_TRUE(std::includes(replicas.differing.begin(),
                              replicas.differing.end(), outcome.found.begin(),
                              outcome.found.end()));
    // Symbols of 8 bits hide one overwritten leaf in 64.
    EXPECT_GE(outcome.found.size(), 5850u) << odd;
    if (GetParam() == Prefer::kBytes) {
      EXPECT_LE(outcome.bytes, 24'000u) << odd;
    }
  }
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

// Searches with parities of leaves, and by syndromes alone, as where a side has
// not the memory.
class LeafSearchEstimate : public ::testing::TestWithParam<bool> {
 protected:
  LeafSearchOptions options() const { return {.parities = GetParam()}; }
};

// What is sent for far fewer leaves than differ is not decoded.
TEST_P(LeafSearchEstimate, GivesUpAtOnceIfFarTooMuchDiffers) {
  int far_too_low = 0;
  const size_t in_vain = GetParam() ? 1'400 : 10'000;
  for (uint8_t seed = 0; seed < (kSanitized ? 4 : 100); ++seed) {
    const Outcome outcome =
        Search(Differing(kLeaves, 60'000, seed), options(), seed, {});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.found.size(), kLeaves) << int{seed};
    EXPECT_LE(outcome.payloads, 3) << int{seed};
    far_too_low += outcome.bytes > in_vain ? 1 : 0;
  }
  EXPECT_TRUE(kSanitized || far_too_low > 0) << "none was put to the test";
}

// The fine parities beside the first syndromes, or the parities of leaves
// themselves, tell how many are wanted, however wrong the estimate was: probe,
// estimate, and three times more at most.
TEST_P(LeafSearchEstimate, IsMendedAtOnceIfTooLow) {
  int all = 0;
  std::vector<size_t> bytes;
  for (uint8_t seed = 0; seed < (kSanitized ? 2 : 40); ++seed) {
    const Replicas replicas = Differing(kLeaves, 9000, seed);
    const Outcome outcome = Search(replicas, options(), seed, {});
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
  // 20 bits tell a leaf by syndromes; the second pass leaves to the third what
  // it may.
  std::sort(bytes.begin(), bytes.end());
  EXPECT_TRUE(kSanitized ||
              bytes[bytes.size() / 2] < (GetParam() ? 19'500u : 25'000u))
      << bytes[bytes.size() / 2];
}

// An estimate below a third of what differs, for which the fine parities are
// made: nearly half of them differ.
TEST_P(LeafSearchEstimate, IsMendedAtOnceIfFarTooLow) {
  constexpr uint8_t kLowestOf256 = 94;
  const Replicas replicas = Differing(kLeaves, 9000, kLowestOf256);
  const Outcome outcome = Search(replicas, options(), kLowestOf256, {});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.found, List(replicas.differing));
  EXPECT_LE(outcome.payloads, 9);
}

INSTANTIATE_TEST_SUITE_P(Parities, LeafSearchEstimate, ::testing::Bool());

TEST_P(LeafSearchTest, ParitiesLeaveOutWhatIsClosed) {
  const Replicas replicas = Differing(kLeaves, 4000, 14);
  std::vector<bool> closed(kLeaves, false);
  std::vector<uint32_t> open;
  for (const uint32_t leaf : replicas.differing) {
    closed[leaf] = leaf % 2 == 0;
    if (leaf % 2 != 0) open.push_back(leaf);
  }
  EXPECT_EQ(Search(replicas, GetParam(), 14, closed).found, open);
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

LeafSearchOptions AtOnce(double expected) {
  return {.per_leaf = 15, .expected = expected, .at_once = true};
}

// Without a probe or an estimate: parities, one request, and what it asks for.
TEST(LeafParities, BeginASearchForWhatIsExpected) {
  const Replicas replicas = Differing(kLeaves, 9000, 15);
  for (const double expected : {6000.0, 9000.0, 12'000.0}) {
    const Outcome outcome = Search(replicas, AtOnce(expected), 15, {});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.found, List(replicas.differing));
    EXPECT_EQ(outcome.differences, 9000);
    if (expected > 9000) {
      EXPECT_EQ(outcome.payloads, 3);
    }
  }
}

TEST(LeafParities, TellThatTheyTellNothing) {
  for (const size_t differing : {30'000, 60'000}) {
    const Outcome outcome =
        Search(Differing(kLeaves, differing, 16), AtOnce(300), 16, {});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.found.size(), kLeaves);
    EXPECT_LT(outcome.bytes, 5000u);
  }
}

TEST(LeafParities, AreRefusedByASideWithoutTheMemory) {
  const Replicas replicas = Differing(kLeaves, 9000, 17);
  const std::vector<bool> closed(kLeaves, false);
  for (const double expected : {0.0, 9000.0}) {  // later, and at once
    LeafSearchOptions options{.per_leaf = 15, .expected = expected};
    LeafSearch a(Role::kInitiator, options, {18}, replicas.a, closed);
    options.parities = false;
    LeafSearch b(Role::kResponder, options, {18}, replicas.b, closed);
    size_t bytes = 0;
    for (int turn = 0; !a.done() && !b.done(); ++turn) {
      std::string payload;
      ASSERT_TRUE((turn % 2 == 0 ? a : b).NextPayload(&payload));
      ASSERT_LT(turn, 20);
      bytes += payload.size();
      ASSERT_TRUE((turn % 2 == 0 ? b : a).Receive(payload).ok());
    }
    EXPECT_EQ((a.done() ? a : b).missing_there(), List(replicas.differing));
    EXPECT_GT(bytes, 25'000u);
  }
}

// Returns parities of leaves that are all equal, in groups of the sender's
// choice, said to differ all.
std::string EqualParities(const std::vector<Digest>& leaves, int group_bits) {
  std::string payload("\x05", 1);
  payload.push_back(static_cast<char>(group_bits));
  PutVarint64(&payload, leaves.size());
  const CoupledShape shape = ShapeCoupled(9000);
  PutCoupledShape(shape, &payload);
  std::vector<uint8_t> bits;
  for (const Digest& leaf : leaves) bits.push_back(leaf.count & 1);
  const std::vector<bool> closed(leaves.size(), false);
  CoupledParities(CoupledMembers(bits, closed), DeriveCoupledKeys({21}), shape)
      .AppendCells(&payload);
  return payload;
}

// A peer that sends anything in place of syndromes makes this side ask again,
// but not without end.
TEST(LeafParities, GiveUpGroupsThatTakeTooMuch) {
  const Replicas replicas = Differing(kLeaves, 0, 19);
  const std::vector<bool> closed(kLeaves, false);
  std::mt19937_64 random(20);
  for (const int group_bits : {0, 6, 9, 12}) {
    LeafSearch search(Role::kResponder, AtOnce(9000), {21}, replicas.a, closed);
    const SymbolShape shape{.leaves = kLeaves,
                            .group_bits = group_bits,
                            .least_bits = SymbolBitsToTell(15, false)};
    std::vector<uint32_t> sent(shape.groups(), 0);
    std::string payload = EqualParities(replicas.a, group_bits);
    int requests = 0;
    for (; search.Receive(payload).ok() && !search.done(); ++requests) {
      std::string request;
      ASSERT_TRUE(search.NextPayload(&request));
      std::vector<uint32_t> wanted;
      ASSERT_TRUE(GetOfEach(request.substr(1), sent, &wanted).ok());
      uint64_t count = 0;
      for (size_t i = 0; i < sent.size(); ++i) {
        if (wanted[i] > 0)
          count += wanted[i] - std::exchange(sent[i], wanted[i]);
      }
      payload.assign("\x09", 1);
      BitWriter writer(&payload);
      for (; count > 0; --count) writer.Put(random() % 256, shape.bits());
    }
    EXPECT_TRUE(search.done()) << group_bits;
    EXPECT_LE(requests, 5);
    EXPECT_GT(search.missing_there().size(), kLeaves / 2);
  }
}

// A leaf takes 17 bits at most instead of 20, beside a fifth that is odd.
TEST(LeafParities, ArePlannedWhereTheyTakeFewerBits) {
  const double bits = PlanLeafParities(kLeaves, 9300, 10).bits;
  EXPECT_LT(bits, 9300 * 17.5);
  EXPECT_GT(bits, 9300 * 14.0);
  EXPECT_TRUE(std::isinf(PlanLeafParities(kLeaves, 60'000, 10).bits));
  for (const double odd : {10.0, 900.0, 9000.0}) {
    EXPECT_NEAR(OddLeaves(kLeaves, DifferingLeaves(kLeaves, odd)), odd, 1);
  }
}

TEST(FinerLeaves, AreAsManyAsTellMost) {
  // 10^5 of 10^7: half a million leaves, or as many as there is memory for.
  const SidesThatDiffer sides = {1e7, 1e7, 1e5};
  EXPECT_EQ(ChooseFinerBits(16, 1 << 19, sides), 19);
  EXPECT_EQ(ChooseFinerBits(16, 1 << 21, sides), 19);
  EXPECT_EQ(ChooseFinerBits(16, 1 << 18, sides), 18);
  EXPECT_EQ(ChooseFinerBits(16, 1 << 16, sides), 0);
  // Parities of all elements take less where one side lacks nothing, and
  // where nearly all differs nothing is told.
  EXPECT_EQ(ChooseFinerBits(16, 1 << 19, {1e7, 1.01e7, 1e5}), 0);
  EXPECT_EQ(ChooseFinerBits(16, 1 << 19, {1e7, 1e7, 1e7}), 0);
  EXPECT_EQ(ChooseFinerBits(16, 1 << 19, {1e7, 1e7, 0}), 0);
  EXPECT_TRUE(MayTellLeaves(1e5, 1 << 19));
  EXPECT_FALSE(MayTellLeaves(1e6, 1 << 16));
}

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
      "",     "\x0a", "\x01",      "\x02",
      "\x03", "\x04", probe + "x", probe.substr(0, probe.size() - 1)};
  for (const std::string& payload : bad_probes) {
    EXPECT_FALSE(side(Role::kResponder).Receive(payload).ok());
  }

  // Parities of leaves, in place of a probe: no groups, more groups than
  // leaves, symbols that are too wide, no cells, too many, too few bits.
  const std::string bad_parities[] = {
      std::string("\x05", 1),
      std::string("\x05\x11\x01\x01\x01", 5),
      std::string("\x05\x08\x01", 3),
      std::string("\x05\x08\x01\x00\x01", 5),
      std::string("\x05\x08\x01\x80\x20\xff\x7f", 7),
      std::string("\x05\x08\x81\x80\x08\x01\x01\x01", 8),
      std::string("\x05\x08\x01\x01\x01", 5),
      std::string("\x05\x08\x01\x01\x01\xff", 6),
      std::string("\x05\x0d\x01\x01\x01\x1f", 6),
      std::string("\x06\x01", 2),
      std::string("\x07\x01\x01", 3),
      std::string("\x08\x01\x01\x01", 4),
      std::string("\x09\x01", 2)};
  for (const std::string& payload : bad_parities) {
    EXPECT_FALSE(side(Role::kResponder).Receive(payload).ok());
    EXPECT_FALSE(side(Role::kInitiator).Receive(payload).ok());
  }
  // And what the side that has sent them is asked for.
  const std::string bad_requests[] = {
      std::string("\x06", 1),
      std::string("\x06\x81\x80\x02", 4),
      std::string("\x06\x01\x01", 3),
      std::string("\x07\x01\x01", 3),
      std::string("\x08\x01", 2),
      std::string("\x08\x01\x0b", 3) + std::string(1000, 'x'),
      std::string("\x08\x01\x00", 3),
      std::string("\x08\x01\x01", 3) + std::string(1 << 13, '\0')};
  for (const std::string& payload : bad_requests) {
    LeafSearch sender(Role::kInitiator, AtOnce(9000), {1}, replicas.a, closed);
    std::string parities;
    ASSERT_TRUE(sender.NextPayload(&parities));
    EXPECT_EQ(parities[0], '\x05');
    EXPECT_FALSE(sender.Receive(payload).ok());
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

#include "replication/reconcile/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "exchange_driver.h"
#include "sketch/element/digest.h"
#include "sketch/parities/coupled_parities.h"
#include "tests/sanitized.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

MappingSeed SeedOf(uint64_t number) {
  MappingSeed seed = {};
  for (int i = 0; i < 8; ++i) {
    seed[i] = static_cast<uint8_t>(number >> (8 * i));
  }
  return seed;
}

ExchangeOptions Hurried() {
  ExchangeOptions options;
  options.prefer = Prefer::kRoundTrips;
  return options;
}

struct Sets {
  std::vector<ElementHash> a;
  std::vector<ElementHash> b;
};

Sets MakeSets(size_t common, size_t only_a, size_t only_b, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<ElementHash> shared = RandomElements(common, &random);
  Sets sets{RandomElements(only_a, &random), RandomElements(only_b, &random)};
  sets.a.insert(sets.a.end(), shared.begin(), shared.end());
  sets.b.insert(sets.b.end(), shared.begin(), shared.end());
  std::shuffle(sets.a.begin(), sets.a.end(), random);
  std::shuffle(sets.b.begin(), sets.b.end(), random);
  return sets;
}

// Repeats exchanges as a session does until both sides hold the same; returns
// how many it took, 0 if one went wrong.
size_t Converge(const ExchangeOptions& options, uint64_t seed, Sets sets) {
  ExchangeOptions current = options;
  for (size_t round = 1; round <= 20; ++round) {
    const Conversation talk = DriveSession(
        current, current, SeedOf(1000 * seed + round), sets.a, sets.b);
    if (!talk.status.ok() || !talk.done) {
      ADD_FAILURE() << "seed " << seed << " round " << round << " "
                    << talk.status;
      return 0;
    }
    const Sets before = sets;
    const std::set<ElementHash> in_a(sets.a.begin(), sets.a.end());
    const std::set<ElementHash> in_b(sets.b.begin(), sets.b.end());
    for (const uint32_t i : talk.missing_there[0]) {
      if (!in_b.contains(before.a[i])) sets.b.push_back(before.a[i]);
    }
    for (const uint32_t i : talk.missing_there[1]) {
      if (!in_a.contains(before.b[i])) sets.a.push_back(before.b[i]);
    }
    Digest a;
    Digest b;
    for (const ElementHash& e : sets.a) a.Add(e);
    for (const ElementHash& e : sets.b) b.Add(e);
    if (a == b) return round;
    current.expected_differences = talk.reports[1].expected_left;
    current.retry = true;
    std::swap(sets.a, sets.b);  // the responder opens the retry
  }
  ADD_FAILURE() << "seed " << seed << " does not converge";
  return 0;
}

// Every pair of subsets of a small universe.
TEST(ExchangeTest, SmallWorldsExhaustively) {
  std::mt19937_64 random(1);
  for (const ExchangeOptions& options : {ExchangeOptions(), Hurried()}) {
    const std::vector<ElementHash> universe = RandomElements(5, &random);
    for (uint32_t in_a = 0; in_a < 32; ++in_a) {
      for (uint32_t in_b = 0; in_b < 32; ++in_b) {
        Sets sets;
        for (int i = 0; i < 5; ++i) {
          if (in_a >> i & 1) sets.a.push_back(universe[i]);
          if (in_b >> i & 1) sets.b.push_back(universe[i]);
        }
        const Conversation talk =
            DriveSession(options, options, SeedOf(7), sets.a, sets.b);
        ASSERT_TRUE(talk.status.ok()) << talk.status;
        ASSERT_TRUE(talk.done) << in_a << " " << in_b;
        EXPECT_EQ(talk.missing_there[0], TrulyMissing(sets.a, sets.b))
            << in_a << " " << in_b;
        EXPECT_EQ(talk.missing_there[1], TrulyMissing(sets.b, sets.a))
            << in_a << " " << in_b;
      }
    }
  }
}

// The initiator guesses how many elements the responder has.
TEST(ExchangeTest, ACountMayBeOffByAFew) {
  uint64_t seed = 50;
  for (const bool hurry : {false, true}) {
    for (const size_t common : {0, 1, 6, 300, 5000}) {
      for (const size_t differing : {0, 1, 3, 30, 400}) {
        for (const int off : {-5, -1, 1, 4}) {
          ExchangeOptions options = hurry ? Hurried() : ExchangeOptions();
          options.expected_differences = 2.0 * static_cast<double>(differing);
          const Sets sets = MakeSets(common, differing + 1, differing, ++seed);
          const auto claimed = static_cast<uint64_t>(
              std::max(static_cast<int>(sets.b.size()) + off, 1));
          const Conversation talk = DriveSession(
              options, options, SeedOf(seed), sets.a, sets.b, {}, {}, claimed);
          ASSERT_TRUE(talk.status.ok()) << talk.status;
          ASSERT_TRUE(talk.done)
              << common << " " << differing << " " << claimed;
          const std::vector<uint32_t> missing = TrulyMissing(sets.a, sets.b);
          EXPECT_GE(talk.missing_there[0].size() + 1 + missing.size() / 2,
                    missing.size())
              << common << " " << differing << " " << claimed;
        }
      }
    }
  }
}

TEST(ExchangeTest, ASideThatIsTakenForEmptyLacksAll) {
  const Sets sets = MakeSets(3, 2, 1, 8);
  const Conversation talk =
      DriveSession({}, {}, SeedOf(8), sets.a, sets.b, {}, {}, 0);
  ASSERT_TRUE(talk.done);
  EXPECT_TRUE(talk.payloads.empty());
  EXPECT_EQ(talk.missing_there[0].size(), 5u);
  EXPECT_EQ(talk.missing_there[1].size(), 4u);
}

// Where a probe would be in vain, the estimate comes without being asked for.
TEST(ExchangeTest, AnEstimateComesAtOnceWhereManyDiffer) {
  const Sets sets = MakeSets(20'000, 1000, 1000, 9);
  for (const bool hurry : {false, true}) {
    ExchangeOptions options = hurry ? Hurried() : ExchangeOptions();
    const Conversation before =
        DriveSession(options, options, SeedOf(9), sets.a, sets.b);
    options.many_differ = true;
    const Conversation talk =
        DriveSession(options, options, SeedOf(9), sets.a, sets.b);
    ASSERT_TRUE(talk.status.ok()) << talk.status;
    ASSERT_TRUE(talk.done);
    EXPECT_EQ(talk.payloads.front().substr(0, 2),
              hurry ? std::string("\x50\x06") : std::string("\x40\x06"));
    if (!hurry) {
      EXPECT_LT(talk.turns, before.turns);
    }
  }
}

// Of very many differences half of the fine parities are odd, by chance some
// fewer; that is no estimate.
TEST(ExchangeTest, AFineEstimateThatIsChanceIsNotBelieved) {
  for (uint64_t seed = 0; seed < (kSanitized ? 6 : 30); ++seed) {
    const Sets sets = MakeSets(2000, 30'000, 30'350, seed);
    const Conversation talk =
        DriveSession({}, {}, SeedOf(seed), sets.a, sets.b);
    ASSERT_TRUE(talk.done) << talk.status;
    EXPECT_GE(talk.reports[0].estimated_differences, 20'000) << seed;
  }
}

// Two passes over a sketch take fewer turns than three, and little more.
TEST(ExchangeTest, FewerPassesTakeFewerTurns) {
  uint32_t turns[2] = {0, 0};
  uint64_t bytes[2] = {0, 0};
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Sets sets = MakeSets(50'000, 2500, 2500, 10 + seed);
    for (const bool fewer : {false, true}) {
      ExchangeOptions options;
      options.expected_differences = 5000;
      if (fewer) options.passes = 2;
      const Conversation talk =
          DriveSession(options, options, SeedOf(seed), sets.a, sets.b);
      ASSERT_TRUE(talk.status.ok()) << talk.status;
      ASSERT_TRUE(talk.done);
      turns[fewer] += talk.turns;
      bytes[fewer] += talk.bytes[0] + talk.bytes[1];
    }
  }
  EXPECT_LT(turns[1], turns[0]);
  EXPECT_LT(bytes[1], bytes[0] + bytes[0] / 12);
}

TEST(ExchangeTest, EverySizeAndBalanceConverges) {
  uint64_t seed = 0;
  for (const ExchangeOptions& options : {ExchangeOptions(), Hurried()}) {
    for (const size_t common : {0, 1, 10, 300, 3000}) {
      for (const size_t only_a : {0, 1, 2, 7, 20, 90, 400, 3000}) {
        for (const size_t only_b : {0, 1, 5, 17, 150, 3000}) {
          const size_t rounds =
              Converge(options, seed, MakeSets(common, only_a, only_b, seed));
          EXPECT_GE(rounds, 1u) << common << " " << only_a << " " << only_b;
          EXPECT_LE(rounds, 4u) << common << " " << only_a << " " << only_b;
        }
      }
    }
  }
}

TEST(ExchangeTest, FewDifferencesTakeOneTurnEach) {
  const Sets sets = MakeSets(10'000, 1, 1, 5);
  const Conversation talk = DriveSession({}, {}, SeedOf(5), sets.a, sets.b);
  ASSERT_TRUE(talk.done);
  EXPECT_EQ(talk.turns, 2u);
  EXPECT_EQ(talk.missing_there[0], TrulyMissing(sets.a, sets.b));
  EXPECT_EQ(talk.missing_there[1], TrulyMissing(sets.b, sets.a));
  // Header, and three sums of 14 + 9 bits.
  EXPECT_EQ(talk.bytes[0], 1u + 9u);
  // Kind, count, check, and a rank of about 14 bits.
  EXPECT_LE(talk.bytes[1], 4u + 2u);
}

TEST(ExchangeTest, AnEmptySideNeedsNoWord) {
  const Sets sets = MakeSets(0, 1000, 0, 6);
  for (const bool swap : {false, true}) {
    const auto& a = swap ? sets.b : sets.a;
    const auto& b = swap ? sets.a : sets.b;
    const Conversation talk = DriveSession({}, {}, SeedOf(6), a, b);
    ASSERT_TRUE(talk.done);
    EXPECT_TRUE(talk.payloads.empty());
    EXPECT_EQ(talk.missing_there[swap].size(), 1000u);
    EXPECT_TRUE(talk.missing_there[!swap].empty());
  }
}

TEST(ExchangeTest, ANearlyEmptySideIsFilled) {
  for (const size_t few : {1, 10, 50}) {
    for (const bool swap : {false, true}) {
      Sets sets = MakeSets(few, 50'000, 3, 7);
      if (swap) std::swap(sets.a, sets.b);
      const Conversation talk = DriveSession({}, {}, SeedOf(7), sets.a, sets.b);
      ASSERT_TRUE(talk.done);
      EXPECT_LE(talk.bytes[0] + talk.bytes[1], 700u);
      EXPECT_GE(talk.missing_there[swap].size(), 49'990u);
    }
  }
}

TEST(ExchangeTest, OneSidedDifferencesCostNoMore) {
  const Sets even = MakeSets(20'000, 500, 500, 8);
  const Conversation both = DriveSession({}, {}, SeedOf(8), even.a, even.b);
  for (const bool swap : {false, true}) {
    Sets uneven = MakeSets(20'000, 1000, 0, 9);
    if (swap) std::swap(uneven.a, uneven.b);
    const Conversation one =
        DriveSession({}, {}, SeedOf(9), uneven.a, uneven.b);
    ASSERT_TRUE(both.done && one.done);
    EXPECT_LE(one.bytes[0] + one.bytes[1],
              1.1 * static_cast<double>(both.bytes[0] + both.bytes[1]));
  }
}

// log2 C(n, k) in bytes: what any method needs to say which k of n.
double EntropyBytes(double n, double k) {
  return (std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1)) /
         std::log(2) / 8;
}

TEST(ExchangeTest, WhatOnlyOneSideHasCostsLittleMoreThanItsEntropy) {
  ExchangeOptions options;
  for (const size_t missing : {600, 3000, 15'000}) {
    const Sets sets = MakeSets(60'000, missing, 0, 20);
    const double entropy = EntropyBytes(static_cast<double>(sets.a.size()),
                                        static_cast<double>(missing));
    for (const bool initiator_lacks : {false, true}) {
      const auto& initiator = initiator_lacks ? sets.b : sets.a;
      const auto& other = initiator_lacks ? sets.a : sets.b;
      const Conversation talk =
          DriveSession(options, options, SeedOf(21), initiator, other);
      ASSERT_TRUE(talk.status.ok()) << talk.status;
      ASSERT_TRUE(talk.done);
      EXPECT_EQ(talk.missing_there[initiator_lacks].size(), missing);
      EXPECT_TRUE(talk.missing_there[!initiator_lacks].empty());
      EXPECT_LT(static_cast<double>(talk.bytes[0] + talk.bytes[1]),
                1.75 * entropy + 150);
      EXPECT_LE(talk.turns, 8u);
    }
  }
}

TEST(ExchangeTest, FewElementsOfTheOtherSideAreFoundToo) {
  for (const size_t others : {1, 30, 200}) {
    const Sets sets = MakeSets(60'000, 5000, others, 22);
    const Conversation talk = DriveSession({}, {}, SeedOf(23), sets.a, sets.b);
    ASSERT_TRUE(talk.done);
    const size_t rounds = Converge({}, 24, sets);
    EXPECT_GE(rounds, 1u);
    EXPECT_LE(rounds, 2u) << others;
    const Conversation two_sided =
        DriveSession(Hurried(), Hurried(), SeedOf(23), sets.a, sets.b);
    EXPECT_LT(talk.bytes[0] + talk.bytes[1],
              (two_sided.bytes[0] + two_sided.bytes[1]) / 2);
  }
}

// Parities that cannot be decoded, or were never promised, end the exchange or
// do no harm.
TEST(ExchangeTest, ParitiesOfAHostilePeer) {
  std::mt19937_64 random(25);
  const std::vector<ElementHash> mine = RandomElements(3000, &random);
  const auto body_of = [&](uint8_t kind, const std::string& body) {
    return std::string(1, static_cast<char>(kind)) + body;
  };
  std::string noise(65 * 14, '\0');  // 64 segments and more of 100 cells
  for (char& c : noise) c = static_cast<char>(random());
  const std::string shape("\x3c\x64", 2);  // 60 windows of 100 cells
  const size_t bytes = CoupledBytes(64 * 100);
  const auto refuses = [&](const std::vector<std::string>& payloads) {
    // The initiator holds fewer, so this side answers with its estimate.
    const auto answerer =
        NewExchange(Role::kResponder, {}, SeedOf(2), mine, 2000);
    std::string out;
    EXPECT_TRUE(answerer->Receive(std::string(1, '\0')).ok());
    for (const std::string& payload : payloads) {
      while (answerer->NextPayload(&out)) out.clear();
      if (!answerer->Receive(payload).ok()) return true;
    }
    return false;
  };
  const std::string parities = body_of(10, shape + noise.substr(0, bytes));
  EXPECT_FALSE(refuses({parities}));
  EXPECT_TRUE(refuses({body_of(10, shape + noise.substr(0, bytes - 1))}));
  EXPECT_TRUE(refuses({body_of(10, std::string("\x00\x64", 2))}));
  EXPECT_TRUE(refuses({body_of(10, std::string("\x3c\x00", 2))}));
  // More cells than elements call for, before any memory is taken for them.
  EXPECT_TRUE(refuses({body_of(10, std::string("\x80\x20\x80\x80\x01", 5))}));
  EXPECT_TRUE(refuses({parities, parities}));
  EXPECT_TRUE(refuses({body_of(11, std::string("\x01", 1) + noise)}));
  EXPECT_TRUE(refuses({parities, body_of(11, std::string(1, '\0'))}));
  EXPECT_TRUE(refuses({parities, body_of(12, std::string(1, '\0'))}));
  std::vector<std::string> split_for_ever = {parities};
  for (uint8_t to = 1; to < 20; ++to) {
    split_for_ever.push_back(
        body_of(11, std::string(1, static_cast<char>(to)) +
                        std::string(CoupledBytes(64), '\x5a')));
  }
  EXPECT_TRUE(refuses(split_for_ever));
}

TEST(ExchangeTest, SetsMadeToCollide) {
  for (const bool equal_high : {false, true}) {
    for (const size_t differences : {2, 60, 2000}) {
      Sets sets = MakeSets(5000, differences, differences, 10);
      for (auto* set : {&sets.a, &sets.b}) {
        for (ElementHash& e : *set) (equal_high ? e.high : e.low) = 42;
      }
      EXPECT_GE(Converge({}, 10 + differences, sets), 1u);
    }
  }
}

TEST(ExchangeTest, LongMessagesAndFiltersTravelInPieces) {
  const Sets sets = MakeSets(4000, 4000, 3000, 11);
  ExchangeOptions small;
  small.max_payload_bytes = 300;
  const Conversation whole = DriveSession({}, {}, SeedOf(11), sets.a, sets.b);
  const Conversation pieces =
      DriveSession(small, small, SeedOf(11), sets.a, sets.b);
  ASSERT_TRUE(whole.done);
  ASSERT_TRUE(pieces.status.ok()) << pieces.status;
  ASSERT_TRUE(pieces.done);
  EXPECT_GT(pieces.payloads.size(), 20u);
  for (const std::string& payload : pieces.payloads) {
    EXPECT_LE(payload.size(), 301u);
  }
  EXPECT_EQ(whole.missing_there[0], pieces.missing_there[0]);
  EXPECT_EQ(whole.missing_there[1], pieces.missing_there[1]);
}

TEST(ExchangeTest, TheReportExplains) {
  const Sets sets = MakeSets(8000, 2000, 2000, 12);
  const Conversation talk = DriveSession({}, {}, SeedOf(12), sets.a, sets.b);
  ASSERT_TRUE(talk.done);
  const ExchangeReport& report = talk.reports[0];
  EXPECT_NEAR(report.estimated_differences, 4000, 2500);
  EXPECT_GT(report.filter_bytes, 0u);
  EXPECT_NE(report.plan.find("filter"), std::string::npos) << report.plan;
  EXPECT_EQ(report.filter_bytes + report.sketch_bytes,
            talk.bytes[0] + talk.bytes[1]);
  EXPECT_EQ(talk.reports[1].filter_bytes + talk.reports[1].sketch_bytes,
            talk.bytes[0] + talk.bytes[1]);
  EXPECT_NEAR(report.predicted_bytes,
              static_cast<double>(talk.bytes[0] + talk.bytes[1]),
              0.5 * report.predicted_bytes);
  const std::string line = Explain(report);
  EXPECT_EQ(line.find(report.plan + ": " +
                      std::to_string(talk.bytes[0] + talk.bytes[1]) + " B, "),
            0u)
      << line;
  EXPECT_NE(line.find(" B predicted"), std::string::npos) << line;
}

// A sketch too small for the differences decodes wrongly now and then; what
// comes of it must never be acted on.
TEST(ExchangeTest, WrongDecodesAreNotActedOn) {
  size_t false_pairs = 0;
  size_t differences = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const size_t only_a = 3 + seed % 3;
    const size_t only_b = seed % 5;
    const Sets sets = MakeSets(100, only_a, only_b, 100 + seed);
    const Conversation talk =
        DriveSession({}, {}, SeedOf(seed), sets.a, sets.b);
    ASSERT_TRUE(talk.done);
    differences += only_a + only_b;
    for (int side = 0; side < 2; ++side) {
      const auto& mine = side == 0 ? sets.a : sets.b;
      const auto& theirs = side == 0 ? sets.b : sets.a;
      const std::vector<uint32_t> truth = TrulyMissing(mine, theirs);
      for (const uint32_t i : talk.missing_there[side]) {
        false_pairs += !std::binary_search(truth.begin(), truth.end(), i);
      }
    }
  }
  EXPECT_LE(static_cast<double>(false_pairs),
            0.0025 * static_cast<double>(differences));
}

// Whatever bytes come, in whatever state, the answer is a status or an answer.
TEST(ExchangeTest, DamagedPayloadsAreRefusedOrHarmless) {
  std::mt19937_64 random(13);
  for (const ExchangeOptions& options : {ExchangeOptions(), Hurried()}) {
    for (int trial = 0; trial < 400; ++trial) {
      const size_t d = size_t{1} << random() % 11;
      const Sets sets = MakeSets(500, d, d / (1 + random() % 3), random());
      const MappingSeed seed = SeedOf(random());
      std::unique_ptr<Exchange> sides[2] = {
          NewExchange(Role::kInitiator, options, seed, sets.a, sets.b.size()),
          NewExchange(Role::kResponder, options, seed, sets.b, sets.a.size())};
      const uint64_t damaged_turn = random() % 8;
      uint64_t payloads = 0;
      bool refused = false;
      for (int turn = 0; turn < 60 && !refused; ++turn) {
        std::string payload;
        while (!refused && sides[turn % 2]->NextPayload(&payload)) {
          if (payloads++ == damaged_turn) {
            switch (random() % 3) {
              case 0:
                payload[random() % payload.size()] ^=
                    static_cast<char>(1 << random() % 8);
                break;
              case 1:
                payload.resize(random() % payload.size());
                break;
              default:
                payload.push_back('\x55');
            }
          }
          refused = !sides[1 - turn % 2]->Receive(payload).ok();
          payload.clear();
        }
      }
      for (const auto& side : sides) {
        if (!side->done()) continue;
        const auto& missing = side->missing_there();
        EXPECT_TRUE(std::is_sorted(missing.begin(), missing.end()));
        EXPECT_TRUE(missing.empty() ||
                    missing.back() < std::max(sets.a.size(), sets.b.size()));
      }
    }
  }
}

TEST(ExchangeTest, AbsurdClaimsAreRefused) {
  std::mt19937_64 random(14);
  const std::vector<ElementHash> mine = RandomElements(100, &random);
  using std::string_literals::operator""s;
  const struct {
    const char* what;
    std::string payload;
  } cases[] = {
      {"2^60 groups", "\x20\x01\x80\x80\x80\x80\x80\x80\x80\x80\x10\x10xx"s},
      {"ids of 200 bits", "\x20\x01\x01\xc8xxxxxxxx"s},
      {"no groups", "\x20\x01\x00\x10xxxx"s},
      {"a sketch without sums", "\x20\x01\x01\x10"s},
      {"a filter of 2^60 slots",
       "\x20\x03\x00\x80\x80\x80\x80\x80\x80\x80\x80\x10\x00xx"s},
      {"2^40 slices", "\x20\x03\x00\x10\x80\x80\x80\x80\x80\x20xx"s},
      {"a slice of nothing", "\x20\x04"s},
      {"an unknown message", "\x20\x0fxx"s},
      {"both kinds of initiator", "\x60\x01\x01\x10xx"s},
      {"a mode of the future", "\x02"s},
      {"an answer to no question", "\x40\x08\x00"s},
      {"an estimate of a wrong size", "\x40\x06xxx"s},
  };
  for (const auto& c : cases) {
    const auto responder =
        NewExchange(Role::kResponder, {}, SeedOf(1), mine, uint64_t{1} << 60);
    EXPECT_FALSE(responder->Receive(c.payload).ok()) << c.what;
  }
}

TEST(ExchangeTest, RoundsThatNeverEndAreEnded) {
  std::mt19937_64 random(15);
  const std::vector<ElementHash> mine = RandomElements(1000, &random);
  const auto responder =
      NewExchange(Role::kResponder, {}, SeedOf(2), mine, 1000);
  // A sketch of noise, extended by noise without end.
  std::string payload("\x20\x01\x04\x18", 4);
  for (int turn = 0; turn < 1000; ++turn) {
    for (int i = 0; i < 4 * 3 * 5; ++i) {
      payload.push_back(static_cast<char>(random()));
    }
    if (!responder->Receive(payload).ok()) return;
    std::string answer;
    while (responder->NextPayload(&answer)) answer.clear();
    if (responder->done()) return;
    payload = "\x02";
  }
  FAIL() << "still talking";
}

// A conversation as bytes, so that a change of the format shows.
TEST(ExchangeTest, FrozenSession) {
  std::vector<ElementHash> a;
  for (uint64_t i = 1; i <= 40; ++i) a.push_back({i << 32, i * i});
  std::vector<ElementHash> b(a.begin() + 1, a.end());
  b.push_back({1000, 2000});
  const Conversation talk = DriveSession({}, {}, SeedOf(3), a, b);
  ASSERT_TRUE(talk.done);
  EXPECT_EQ(talk.missing_there[0], (std::vector<uint32_t>{0}));
  EXPECT_EQ(talk.missing_there[1], (std::vector<uint32_t>{39}));
  std::string hex;
  for (const std::string& payload : talk.payloads) {
    for (const char c : payload) {
      constexpr char kDigits[] = "0123456789abcdef";
      hex += kDigits[static_cast<uint8_t>(c) >> 4];
      hex += kDigits[static_cast<uint8_t>(c) & 15];
    }
    hex += ' ';
  }
  EXPECT_EQ(hex, "00052cd4ac8112 0801613b11 ");
}

}  // namespace
}  // namespace rocksync

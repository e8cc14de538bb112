// Exchanges of elements whose keys both sides know: an overwritten key has
// another element on either side.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "exchange_driver.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/exchange_key_parities.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

MappingSeed SeedOf(uint8_t number) {
  MappingSeed seed = {};
  seed[0] = number;
  return seed;
}

struct Side {
  std::vector<ElementHash> elements;
  std::vector<uint64_t> positions;

  void Add(uint64_t position, const ElementHash& element) {
    positions.push_back(position);
    elements.push_back(element);
  }
  KeyedElements keyed(const MappingSeed& seed) const {
    return {elements, positions, seed};
  }
};

// `a` and `b` share `common` pairs, have `overwritten` keys with another
// element each, and new ones of their own.
struct Sides {
  Side a;
  Side b;
  double overwritten = 0;
  double differences = 0;
};

Sides MakeSides(size_t common, size_t overwritten, size_t only_a, size_t only_b,
                uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto element = [&random] {
    const uint64_t high = random();
    return ElementHash{high, random()};
  };
  Sides sides;
  for (size_t i = 0; i < common; ++i) {
    const uint64_t position = random();
    const ElementHash both = element();
    sides.a.Add(position, both);
    sides.b.Add(position, both);
  }
  for (size_t i = 0; i < overwritten; ++i) {
    const uint64_t position = random();
    sides.a.Add(position, element());
    sides.b.Add(position, element());
  }
  for (size_t i = 0; i < only_a; ++i) sides.a.Add(random(), element());
  for (size_t i = 0; i < only_b; ++i) sides.b.Add(random(), element());
  sides.overwritten = static_cast<double>(overwritten);
  sides.differences = static_cast<double>(2 * overwritten + only_a + only_b);
  return sides;
}

ExchangeOptions Expecting(const Sides& sides, double factor, double error) {
  ExchangeOptions options;
  options.expected_differences = factor * sides.differences;
  options.expected_overwritten = factor * sides.overwritten;
  options.expected_error = error;
  return options;
}

Conversation Drive(const ExchangeOptions& options, uint8_t seed,
                   const Sides& sides) {
  return DriveSession(options, options, SeedOf(seed), sides.a.elements,
                      sides.b.elements, sides.a.positions, sides.b.positions);
}

Conversation DriveWithoutKeys(const ExchangeOptions& options, uint8_t seed,
                              const Sides& sides) {
  return DriveSession(options, options, SeedOf(seed), sides.a.elements,
                      sides.b.elements);
}

uint64_t Bytes(const Conversation& talk) {
  return talk.bytes[0] + talk.bytes[1];
}

// The responder's candidates are overwritten keys and its own new ones, nearly
// all of them, and nothing else.
void ExpectMostFound(const Conversation& talk, const Sides& sides) {
  ASSERT_TRUE(talk.status.ok()) << talk.status;
  ASSERT_TRUE(talk.done);
  EXPECT_TRUE(talk.missing_there[0].empty());
  const std::vector<uint32_t> truth =
      TrulyMissing(sides.b.elements, sides.a.elements);
  EXPECT_TRUE(std::includes(truth.begin(), truth.end(),
                            talk.missing_there[1].begin(),
                            talk.missing_there[1].end()));
  for (const ExchangeReport& report : talk.reports) {
    EXPECT_TRUE(report.leaves_keys) << report.plan;
    // Of what was left, as it was expected, give or take chance.
    const double left =
        2 * static_cast<double>(truth.size() - talk.missing_there[1].size());
    EXPECT_NEAR(report.expected_left, left,
                0.5 * left + 8 * std::sqrt(left + 1));
  }
}

TEST(ExchangeKeysTest, OverwrittenKeysCostAFractionOfTwoElements) {
  for (const size_t overwritten : {300, 1000, 4000}) {
    const Sides sides = MakeSides(20'000, overwritten, 0, 0, overwritten);
    const ExchangeOptions options = Expecting(sides, 1, 0.05);
    const Conversation talk = Drive(options, 1, sides);
    ExpectMostFound(talk, sides);
    EXPECT_EQ(talk.turns, 2u);
    EXPECT_LT(Bytes(talk), Bytes(DriveWithoutKeys(options, 1, sides)) / 2);
  }
}

// What is expected is far off: the first plane tells how many there are.
TEST(ExchangeKeysTest, WrongExpectations) {
  for (const double factor : {0.4, 0.7, 1.4, 2.5}) {
    const Sides sides = MakeSides(30'000, 2000, 0, 0, 2);
    const Conversation talk = Drive(Expecting(sides, factor, 0.3), 2, sides);
    ExpectMostFound(talk, sides);
    EXPECT_LE(talk.turns, 8u);
  }
}

// It was to be one message, and is not enough.
TEST(ExchangeKeysTest, FirmExpectationsThatAreTooLow) {
  const Sides sides = MakeSides(30'000, 2000, 0, 0, 3);
  const Conversation talk = Drive(Expecting(sides, 0.6, 0.05), 3, sides);
  ExpectMostFound(talk, sides);
  EXPECT_GT(talk.turns, 2u);
}

// Without expectations the estimate of keys tells, from many elements on.
TEST(ExchangeKeysTest, TheEstimateTellsOverwrittenKeysFromNewOnes) {
  const Sides sides = MakeSides(140'000, 3000, 0, 0, 4);
  const Conversation talk = Drive({}, 4, sides);
  ExpectMostFound(talk, sides);
  EXPECT_LT(Bytes(talk), Bytes(DriveWithoutKeys({}, 4, sides)) / 2);
  const Sides both = MakeSides(140'000, 0, 3000, 3000, 5);
  const Conversation without = DriveWithoutKeys({}, 5, both);
  const Conversation with = Drive({}, 5, both);
  ASSERT_TRUE(with.done);
  EXPECT_FALSE(with.reports[0].leaves_keys);
  EXPECT_EQ(with.missing_there[0], without.missing_there[0]);
  EXPECT_EQ(with.missing_there[1], without.missing_there[1]);
}

TEST(ExchangeKeysTest, NewKeysOfTheSideThatDecodesAreFoundToo) {
  const Sides sides = MakeSides(30'000, 2000, 0, 1000, 6);
  ExpectMostFound(Drive(Expecting(sides, 1, 0.05), 6, sides), sides);
}

TEST(ExchangeKeysTest, FewNewKeysOfTheOtherSideDoNoHarm) {
  const Sides sides = MakeSides(30'000, 2000, 40, 0, 7);
  const Conversation talk = Drive(Expecting(sides, 1, 0.05), 7, sides);
  ASSERT_TRUE(talk.done) << talk.status;
  EXPECT_TRUE(talk.reports[0].leaves_keys) << talk.reports[0].plan;
  const double found = static_cast<double>(talk.missing_there[1].size());
  EXPECT_NEAR(talk.reports[1].expected_left, 2 * (2000 - found) + 40, 100);
  const std::vector<uint32_t> truth =
      TrulyMissing(sides.b.elements, sides.a.elements);
  std::vector<uint32_t> right;
  std::set_intersection(truth.begin(), truth.end(),
                        talk.missing_there[1].begin(),
                        talk.missing_there[1].end(), std::back_inserter(right));
  EXPECT_GE(static_cast<double>(right.size()), found - 10);
}

TEST(ExchangeKeysTest, ManyNewKeysOfBothSidesAreLeftToSketches) {
  const Sides sides = MakeSides(30'000, 1000, 1000, 1000, 8);
  const Conversation talk = Drive(Expecting(sides, 1, 0.05), 8, sides);
  ASSERT_TRUE(talk.done) << talk.status;
  EXPECT_FALSE(talk.reports[0].leaves_keys) << talk.reports[0].plan;
  EXPECT_NEAR(static_cast<double>(talk.missing_there[0].size()), 2000, 20);
  EXPECT_NEAR(static_cast<double>(talk.missing_there[1].size()), 2000, 20);
}

TEST(ExchangeKeysTest, RoundTripsMatterMore) {
  const Sides sides = MakeSides(20'000, 1000, 0, 0, 9);
  ExchangeOptions options = Expecting(sides, 1, 0.05);
  options.prefer = Prefer::kRoundTrips;
  const Conversation talk = Drive(options, 9, sides);
  ASSERT_TRUE(talk.done) << talk.status;
  EXPECT_FALSE(talk.reports[0].leaves_keys) << talk.reports[0].plan;
}

// What both hold once the candidates of either side have been offered: of two
// elements of a key the greater one wins, wherever it is.
void Merge(const Conversation& talk, Sides* sides) {
  const Side before[2] = {sides->a, sides->b};
  Side* const after[2] = {&sides->a, &sides->b};
  std::map<uint64_t, size_t> at[2];
  for (const int side : {0, 1}) {
    for (size_t i = 0; i < before[side].positions.size(); ++i) {
      at[side][before[side].positions[i]] = i;
    }
  }
  for (const int side : {0, 1}) {
    for (const uint32_t i : talk.missing_there[side]) {
      const uint64_t position = before[side].positions[i];
      const ElementHash& mine = before[side].elements[i];
      const auto there = at[1 - side].find(position);
      if (there == at[1 - side].end()) {
        at[1 - side][position] = after[1 - side]->elements.size();
        after[1 - side]->Add(position, mine);
        continue;
      }
      const ElementHash winner =
          std::max(mine, after[1 - side]->elements[there->second]);
      after[1 - side]->elements[there->second] = winner;
      after[side]->elements[i] = winner;
    }
  }
}

// Repeats exchanges as a session does; returns how many it took.
size_t Converge(Sides sides, uint8_t seed) {
  ExchangeOptions options = Expecting(sides, 1, 0.1);
  for (size_t round = 1; round <= 12; ++round) {
    const Conversation talk =
        Drive(options, static_cast<uint8_t>(seed + round), sides);
    if (!talk.status.ok() || !talk.done) return 0;
    Merge(talk, &sides);
    const std::set<ElementHash> a(sides.a.elements.begin(),
                                  sides.a.elements.end());
    const std::set<ElementHash> b(sides.b.elements.begin(),
                                  sides.b.elements.end());
    if (a == b) return round;
    const ExchangeReport& report = talk.reports[1];
    options = {};
    options.expected_differences = report.expected_left;
    options.retry = report.expected_left > 0 && !report.leaves_keys;
    if (report.leaves_keys) {
      options.expected_overwritten = report.expected_left / 2;
    }
    std::swap(sides.a, sides.b);
  }
  return 0;
}

TEST(ExchangeKeysTest, EveryMixConverges) {
  uint8_t seed = 0;
  for (const size_t overwritten : {160, 700, 2500}) {
    for (const size_t only_a : {0, 3, 30, 300}) {
      for (const size_t only_b : {0, 3, 30, 300}) {
        seed = static_cast<uint8_t>(seed + 5);
        const Sides sides = MakeSides(6000, overwritten, only_a, only_b, seed);
        const size_t rounds = Converge(sides, seed);
        EXPECT_GE(rounds, 1u) << overwritten << " " << only_a << " " << only_b;
        EXPECT_LE(rounds, 6u) << overwritten << " " << only_a << " " << only_b;
      }
    }
  }
}

// A peer that cannot decode says so, and gets a sketch or a filter.
TEST(ExchangeKeysTest, APeerThatDoesNotDecode) {
  const Sides sides = MakeSides(20'000, 1000, 0, 0, 10);
  const auto planner =
      NewExchange(Role::kInitiator, Expecting(sides, 1, 0.05), SeedOf(10),
                  sides.a.elements, sides.b.elements.size(), sides.a.positions);
  std::string payload;
  while (planner->NextPayload(&payload)) {
  }
  EXPECT_EQ(payload.substr(0, 2), std::string("\x20\x0e", 2));
  payload.clear();
  ASSERT_TRUE(planner->Receive(std::string("\x0c\x00", 2)).ok());
  ASSERT_TRUE(planner->NextPayload(&payload));
  EXPECT_TRUE(payload[0] == 1 || payload[0] == 3 || payload[0] == 5)
      << static_cast<int>(payload[0]);
}

TEST(ExchangeKeysTest, WhatAHostilePeerSendsIsRefusedOrHarmless) {
  const Sides sides = MakeSides(3000, 300, 0, 0, 11);
  const MappingSeed seed = SeedOf(11);
  const double n = static_cast<double>(sides.b.elements.size());
  KeyParitySender sender(sides.a.keyed(seed), n);
  const std::string good = sender.First({300, 0}, 2, true);
  const auto refuses = [&](const std::vector<std::string>& bodies) {
    KeyParityReceiver receiver(sides.b.keyed(seed), 3300);
    for (const std::string& body : bodies) {
      if (!receiver.Take(body).ok()) return true;
      EXPECT_TRUE(
          std::is_sorted(receiver.found().begin(), receiver.found().end()));
    }
    return false;
  };
  EXPECT_FALSE(refuses({good}));
  EXPECT_TRUE(refuses({good, good}));
  EXPECT_TRUE(refuses({""}));
  EXPECT_TRUE(refuses({std::string("\0\0", 2)}));
  EXPECT_TRUE(refuses({std::string("\0\x05", 2) + good.substr(2)}));
  EXPECT_TRUE(refuses({good.substr(0, good.size() - 1)}));
  // A plane without windows, without cells, of more cells than elements call
  // for before there is memory for them.
  EXPECT_TRUE(refuses({std::string("\0\0\x00\x64", 4)}));
  EXPECT_TRUE(refuses({std::string("\0\0\x3c\x00", 4)}));
  EXPECT_TRUE(refuses({std::string("\0\0\x80\x20\x80\x80\x01", 7)}));
  std::string planes("\1\0", 2);
  const std::string plane("\x01\x01\x15", 3);  // 5 segments of a cell
  for (int i = 0; i < 8; ++i) planes += plane;
  EXPECT_FALSE(refuses({planes}));
  EXPECT_TRUE(refuses({planes + plane}));
  const std::string nothing("\1\0", 2);
  EXPECT_TRUE(refuses({planes, planes, planes, planes, planes}));
  EXPECT_TRUE(refuses({planes, nothing}));
  EXPECT_TRUE(refuses({std::string("\1\0\x01\x01\x35", 5)}));  // spare bits
  std::mt19937_64 random(12);
  std::string noise = good;
  for (size_t i = 4; i < noise.size(); ++i) {
    noise[i] = static_cast<char>(random());
  }
  refuses({noise});
}

TEST(ExchangeKeysTest, ElementsWithoutKeysHaveNoParitiesOfKeys) {
  const Sides sides = MakeSides(3000, 300, 0, 0, 13);
  const auto answerer =
      NewExchange(Role::kResponder, {}, SeedOf(13), sides.b.elements, 3300);
  KeyParitySender sender(sides.a.keyed(SeedOf(13)), 3300);
  EXPECT_FALSE(
      answerer->Receive("\x20\x0e" + sender.First({300, 0}, 2, true)).ok());
}

// Few or many keys, or few of the other side's own: what the plan grants is
// decoded, all planes of it.
TEST(KeyParitiesTest, DecodeFromWhatTheModelGrants) {
  struct Case {
    size_t common;
    size_t overwritten;
    size_t only_a;
  };
  uint8_t seed = 20;
  for (const Case& c :
       {Case{3000, 200, 0}, Case{15'000, 1000, 0}, Case{60'000, 500, 0},
        Case{40'000, 15'000, 0}, Case{60'000, 4000, 50}}) {
    const Sides sides = MakeSides(c.common, c.overwritten, c.only_a, 0, ++seed);
    const double n = static_cast<double>(sides.b.elements.size());
    const DifferingKeys difference{sides.overwritten,
                                   static_cast<double>(c.only_a)};
    const KeyParityPlan plan = PlanKeyParities(n, difference, 10, 0);
    ASSERT_GT(plan.planes, 0u);
    KeyParitySender sender(sides.a.keyed(SeedOf(seed)), n);
    KeyParityReceiver receiver(sides.b.keyed(SeedOf(seed)),
                               sides.a.elements.size());
    ASSERT_TRUE(
        receiver.Take(sender.First(difference, plan.planes, true)).ok());
    EXPECT_TRUE(receiver.complete());
    EXPECT_EQ(receiver.decoded(), plan.planes) << c.common;
  }
}

TEST(KeyParitiesTest, NoChoiceForFewKeysOrManyOfTheOtherSide) {
  EXPECT_EQ(PlanKeyParities(10'000, {20, 0}, 10, 0).planes, 0u);
  EXPECT_EQ(PlanKeyParities(10'000'000, {1000, 0}, 10, 0).planes, 0u);
  EXPECT_EQ(PlanKeyParities(10'000, {1000, 500}, 10, 0).planes, 0u);
  EXPECT_EQ(PlanKeyParities(10'000, {9000, 0}, 10, 0).planes, 0u);
  EXPECT_GT(PlanKeyParities(10'000, {1000, 0}, 10, 0).planes, 0u);
}

}  // namespace
}  // namespace rocksync

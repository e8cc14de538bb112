// Sessions: turns that go on for as long as there are values to ship.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "replication/session/outgoing_pairs.h"
#include "replication/session/session.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class SessionStreamsTest : public SessionTest {
 protected:
  // `b` lacks pairs of `a`, and, if `overwritten`, has older ones of these
  // keys.
  void Diverge(bool overwritten, size_t value_bytes, MemoryStorage* a,
               MemoryStorage* b) {
    for (int i = 0; i < 100; ++i) a->Put(0, absl::StrCat("both", i), "value");
    for (int i = 0; i < 500 && overwritten; ++i) {
      a->Put(0, absl::StrCat("key", i), "older");
    }
    ExpectProven(DriveSession(a, b));
    for (int i = 0; i < 500; ++i) {
      a->Put(0, absl::StrCat("key", i), std::string(value_bytes, 'v'));
    }
  }

  static uint64_t OfKinds(const SessionReport& report) {
    return report.filter_bytes + report.offer_bytes + report.key_bytes +
           report.value_bytes;
  }

  static uint64_t Counted(const SessionReport& report) {
    return report.bytes_sent + report.bytes_received - report.unanswered_bytes;
  }

  // Options of a session whose counters never decrease, and fit each other
  // whenever it tells of its progress.
  SessionRunOptions Checked() {
    SessionRunOptions options;
    last_[0] = last_[1] = {};
    options.progress = [this](Role of, const SessionReport& now) {
      SessionReport* const last = &last_[of == Role::kInitiator];
      EXPECT_GE(now.filter_bytes, last->filter_bytes);
      EXPECT_GE(now.offer_bytes, last->offer_bytes);
      EXPECT_GE(now.key_bytes, last->key_bytes);
      EXPECT_GE(now.value_bytes, last->value_bytes);
      EXPECT_GE(Counted(now), Counted(*last));
      EXPECT_LE(OfKinds(now), Counted(now));
      EXPECT_GE(Counted(now) - OfKinds(now), Counted(*last) - OfKinds(*last))
          << "what is of no kind is a counter, too";
      *last = now;
    };
    return options;
  }

  // Both sides saw the same messages.
  static void ExpectAlike(const SessionRunResult& result) {
    const SessionReport& a = result.initiator;
    const SessionReport& b = result.responder;
    EXPECT_EQ(a.filter_bytes, b.filter_bytes);
    EXPECT_EQ(a.offer_bytes, b.offer_bytes);
    EXPECT_EQ(a.key_bytes, b.key_bytes);
    EXPECT_EQ(a.value_bytes, b.value_bytes);
    EXPECT_EQ(a.bytes_sent, b.bytes_received);
    EXPECT_EQ(b.bytes_sent, a.bytes_received);
    EXPECT_EQ(a.pairs_sent, b.pairs_received);
    EXPECT_EQ(b.pairs_sent, a.pairs_received);
    EXPECT_LT(OfKinds(a), a.bytes_sent + a.bytes_received);
  }

  SessionReport last_[2];
};

// Ten turns' worth of values take no round trip of their own.
TEST_F(SessionStreamsTest, ValuesTakeNoRoundTrips) {
  for (const bool overwritten : {false, true}) {
    for (const bool whole_dials : {false, true}) {
      uint32_t round_trips[2] = {};
      for (const bool large : {false, true}) {
        MemoryStorage a = Replica(1);
        MemoryStorage b = Replica(2);
        Diverge(overwritten, large ? 2'000 : 2, &a, &b);
        SessionRunOptions options;
        options.initiator.max_turn_bytes = 100'000;
        options.responder.max_turn_bytes = 100'000;
        const SessionRunResult result = whole_dials
                                            ? DriveSession(&a, &b, options)
                                            : DriveSession(&b, &a, options);
        ExpectProven(result);
        ExpectEqual(a, b);
        round_trips[large] = result.initiator.round_trips;
      }
      // What the exchange takes is a matter of chance.
      EXPECT_LT(round_trips[1], round_trips[0] + 5);
    }
  }
}

TEST_F(SessionStreamsTest, AStreamEndsForThePeersTurn) {
  uint32_t round_trips[2] = {};
  for (const bool streamed : {false, true}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    Diverge(/*overwritten=*/true, 2'000, &a, &b);
    SessionRunOptions options;
    options.initiator.max_turn_bytes = 100'000;
    if (!streamed) options.initiator.limits.max_streamed_bytes = 0;
    const SessionRunResult result = DriveSession(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    round_trips[streamed] = result.initiator.round_trips;
  }
  EXPECT_GT(round_trips[0], round_trips[1] + 4);
}

// A message of a stream is the turn's last one or it is not; nothing is said
// behind the last.
TEST_F(SessionStreamsTest, OneMessageOfATurnIsTheLast) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  Diverge(/*overwritten=*/false, 2'000, &a, &b);
  SessionRunOptions options;
  options.initiator.max_turn_bytes = 10'000;
  uint32_t lasts = 0;
  uint32_t pairs = 0;
  options.tamper = [&](Role from, std::string* message) {
    if (from != Role::kInitiator) return;
    const auto head = static_cast<uint8_t>((*message)[0]);
    lasts += (head & kLastOfTurn) != 0 ? 1 : 0;
    pairs += (head & kTypeMask) == static_cast<uint8_t>(MessageType::kPairs);
  };
  const SessionRunResult result = DriveSession(&a, &b, options);
  ExpectProven(result);
  EXPECT_EQ(lasts, result.initiator.round_trips);
  EXPECT_GT(pairs, 50u);
}

// The peer cannot hold anything that beats them, so they need not be offered.
TEST_F(SessionStreamsTest, PairsThatOnlyAddAreNotOffered) {
  for (const bool whole_dials : {false, true}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    Diverge(/*overwritten=*/false, 20, &a, &b);
    const SessionRunResult result =
        whole_dials ? DriveSession(&a, &b) : DriveSession(&b, &a);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_EQ(result.initiator.offer_bytes, 0u);
    EXPECT_EQ(result.initiator.value_bytes, 500u * 20);
  }
}

// Where ids of a sketch meet an exchange hides what differs; that is no sign of
// anything newer there.
TEST_F(SessionStreamsTest, WhatAnExchangeHidMakesNoOffers) {
  uint32_t rounds = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 10'000; ++i) {
      a.Put(0, "both" + std::to_string(i), "value");
    }
    ExpectProven(DriveSession(&a, &b));
    for (int i = 0; i < 15'000; ++i) {
      a.Put(0, "new" + std::to_string(i), "value");
    }
    SessionRunOptions options;
    options.seed.session_number = seed;
    const SessionRunResult result = DriveSession(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_EQ(result.initiator.offer_bytes, 0u);
    rounds += result.initiator.exchanges;
  }
  EXPECT_GT(rounds, 4u) << "nothing was hidden";
}

// One newer pair there, and all are offered: it may be of one of these keys.
TEST_F(SessionStreamsTest, ALoserAmongPairsThatAddDoesNotTravel) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  Diverge(/*overwritten=*/false, 20, &a, &b);
  a.Put(0, "both7", std::string(5'000, 'a'));
  b.Put(0, "both7", "later");
  const SessionRunResult result = DriveSession(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(a.Get(0, "both7"), "later");
  EXPECT_GT(result.initiator.offer_bytes, 0u);
  EXPECT_EQ(result.initiator.value_bytes, 500u * 20 + 5);
}

// Small values travel in the offers: they are values then, and no offers.
TEST_F(SessionStreamsTest, NoByteCountsTwice) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 2'000; ++i) {
    a.Put(0, "a key of a " + std::to_string(i), "1");
    b.Put(0, "a key of b " + std::to_string(i), "2");
    a.Put(0, "of both " + std::to_string(i), "1");
    b.Put(0, "of both " + std::to_string(i), "2");
  }
  const SessionRunResult result = DriveSession(&a, &b, Checked());
  ExpectProven(result);
  EXPECT_GT(result.initiator.offer_bytes, 0u);
  ExpectAlike(result);
}

TEST_F(SessionStreamsTest, NoByteOfManyTurnsCountsTwice) {
  for (const bool overwritten : {false, true}) {
    for (const size_t value_bytes : {20, 1'000}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      Diverge(overwritten, value_bytes, &a, &b);
      for (MemoryStorage* storage : {&a, &b}) {
        storage->Put(0, "in chunks", std::string(3 * kChunkBytes, 'v'));
      }
      SessionRunOptions options = Checked();
      options.initiator.max_turn_bytes = options.responder.max_turn_bytes =
          size_t{64} << 10;
      const SessionRunResult result = DriveSession(&a, &b, options);
      ExpectProven(result);
      ExpectAlike(result);
    }
  }
}

}  // namespace
}  // namespace rocksync

#include "replication/protocol/session.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/protocol/messages.h"
#include "replication/protocol/pair_coding.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

class SessionTest : public testing::Test {
 protected:
  MemoryStorage Replica(uint64_t id) {
    MemoryStorage::Options options;
    options.replica_id = id;
    options.families = {"default", "other"};
    options.wall_ms = [this] { return ++wall_ms_; };
    return MemoryStorage(&hasher_, options);
  }

  static void ExpectEqual(const MemoryStorage& a, const MemoryStorage& b) {
    ASSERT_EQ(a.records().size(), b.records().size());
    auto other = b.records().begin();
    for (const auto& [key, record] : a.records()) {
      EXPECT_EQ(key, other->first);
      EXPECT_EQ(record.hash, other->second.hash) << key.second;
      EXPECT_EQ(record.value_hash, other->second.value_hash) << key.second;
      ++other;
    }
  }

  static void ExpectProven(const ConversationResult& result) {
    EXPECT_TRUE(result.initiator_status.ok()) << result.initiator_status;
    EXPECT_TRUE(result.responder_status.ok()) << result.responder_status;
    EXPECT_TRUE(result.finished);
    EXPECT_TRUE(result.proven());
    EXPECT_EQ(result.initiator.merged, result.responder.merged);
  }

  uint64_t wall_ms_ = 1'000'000;
  const ElementHasher hasher_{ClusterSecret{1, 2, 3}};
};

TEST_F(SessionTest, TwoEmptyReplicasAreEqual) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  const ConversationResult result = Converse(&a, &b);
  ExpectProven(result);
  EXPECT_EQ(result.initiator.round_trips, 1u);
}

TEST_F(SessionTest, OneFillsTheOther) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  const ConversationResult result = Converse(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.initiator.pairs_sent, 1000u);
}

// What the first exchange probably hid sizes the first sketch of the retry, so
// that one word each way is enough.
TEST_F(SessionTest, ARetryKnowsWhatIsLeft) {
  uint32_t retries = 0;
  for (uint64_t id = 0; id < 6; ++id) {
    MemoryStorage a = Replica(2 * id + 1);
    MemoryStorage b = Replica(2 * id + 2);
    for (int i = 0; i < 1500; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    for (int i = 0; i < 8000; ++i) {
      a.Adopt(0, absl::StrCat("both", i), "value");
      b.Adopt(0, absl::StrCat("both", i), "value");
    }
    const ConversationResult result = Converse(&a, &b);
    ExpectProven(result);
    if (result.initiator.rounds == 1) continue;
    ++retries;
    // The plan of the second exchange, on the side that planned it.
    const std::string plan = result.initiator.plan + result.responder.plan;
    EXPECT_THAT(plan, testing::ContainsRegex(
                          "; (sketch of ([4-9]|[1-9][0-9])|, finish d~)"))
        << plan;
  }
  EXPECT_GT(retries, 0u);
}

TEST_F(SessionTest, TheOtherWayRound) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  const ConversationResult result = Converse(&b, &a);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.responder.pairs_sent, 1000u);
}

TEST_F(SessionTest, OverwritesAndDeletesOnBothSides) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 1000; ++i) a.Put(i % 2, absl::StrCat("key", i), "old");
    ExpectProven(Converse(&a, &b));
    for (int i = 0; i < 100; ++i) a.Put(i % 2, absl::StrCat("key", i), "of a");
    for (int i = 50; i < 150; ++i) b.Put(i % 2, absl::StrCat("key", i), "of b");
    for (int i = 140; i < 170; ++i) a.Delete(i % 2, absl::StrCat("key", i));
    for (int i = 200; i < 220; ++i) b.Delete(i % 2, absl::StrCat("key", i));
    ConversationOptions options;
    options.initiator.exchange.mode = mode;
    const ConversationResult result = Converse(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    // 50 keys are of a, 90 of b, 50 are deleted; each pair goes one way, once.
    // The adaptive exchange may miss an element, and then a loser travels.
    const uint64_t sent =
        result.initiator.pairs_sent + result.responder.pairs_sent;
    EXPECT_GE(sent, 190u);
    EXPECT_LE(sent, mode == ExchangeMode::kBloom ? 190u : 195u);
    EXPECT_GE(result.initiator.value_bytes, 4u * 140);
    EXPECT_LE(result.initiator.value_bytes, 4u * 145);
    EXPECT_EQ(result.initiator.value_bytes, result.responder.value_bytes);
    // Who gets a loser does not count it.
    EXPECT_NEAR(static_cast<double>(result.initiator.key_bytes),
                static_cast<double>(result.responder.key_bytes),
                mode == ExchangeMode::kBloom ? 0 : 6.0 * (sent - 190));
    EXPECT_EQ(result.initiator.bytes_sent, result.responder.bytes_received);
    EXPECT_EQ(result.initiator.bytes_received, result.responder.bytes_sent);
  }
}

// --- Spans ------------------------------------------------------------------

struct SpanCase {
  ExchangeMode mode;
  size_t initiator_span;
  size_t responder_span;
};
class SpansTest : public SessionTest,
                  public testing::WithParamInterface<SpanCase> {
 protected:
  ConversationResult Meet(MemoryStorage* a, MemoryStorage* b) {
    ConversationOptions options;
    options.initiator.exchange.mode = GetParam().mode;
    options.initiator.max_span_elements = GetParam().initiator_span;
    options.responder.max_span_elements = GetParam().responder_span;
    return Converse(a, b, options);
  }
};

TEST_P(SpansTest, FewDifferences) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 3000; ++i) a.Put(0, absl::StrCat("key", i), "old");
  ExpectProven(Meet(&a, &b));
  ExpectEqual(a, b);
  for (int i = 0; i < 40; ++i) a.Put(0, absl::StrCat("key", i), "of a");
  for (int i = 20; i < 60; ++i) b.Put(0, absl::StrCat("key", i), "of b");
  b.Delete(0, "key100");
  a.Put(0, "new", "of a");
  const ConversationResult result = Meet(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  // Only leaves that differ are read.
  EXPECT_LT(result.initiator.elements_compared, 1000u);
}

TEST_P(SpansTest, NothingInCommon) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1500; ++i) a.Put(0, absl::StrCat("a", i), "of a");
  for (int i = 0; i < 1200; ++i) b.Put(0, absl::StrCat("b", i), "of b");
  ExpectProven(Meet(&a, &b));
  ExpectEqual(a, b);
}

TEST_P(SpansTest, AnEmptySide) {
  for (const bool initiator_empty : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* full = initiator_empty ? &b : &a;
    for (int i = 0; i < 2000; ++i) full->Put(0, absl::StrCat("a", i), "value");
    const ConversationResult result = Meet(&a, &b);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_EQ(result.initiator.pairs_sent + result.responder.pairs_sent, 2000u);
    EXPECT_EQ(result.initiator.rounds, 0u);  // no exchange for that
  }
}

TEST_P(SpansTest, ATinySideAndALargeOne) {
  for (const bool initiator_tiny : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* large = initiator_tiny ? &b : &a;
    MemoryStorage* tiny = initiator_tiny ? &a : &b;
    for (int i = 0; i < 2000; ++i) large->Put(0, absl::StrCat("a", i), "value");
    tiny->Put(0, "a7", "newer");
    tiny->Put(1, "other", "value");
    ExpectProven(Meet(&a, &b));
    ExpectEqual(a, b);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SpansTest,
    testing::Values(SpanCase{ExchangeMode::kAdaptive, 100, 100},
                    SpanCase{ExchangeMode::kBloom, 100, 100},
                    SpanCase{ExchangeMode::kAdaptive, 1, 1},
                    SpanCase{ExchangeMode::kAdaptive, 1000, 300},
                    SpanCase{ExchangeMode::kAdaptive, 300, 1000},
                    SpanCase{ExchangeMode::kBloom, 1000, 300},
                    SpanCase{ExchangeMode::kBloom, 300, 1000}));

// --- Values -----------------------------------------------------------------

TEST_F(SessionTest, LargeValuesTravelInChunksBothWays) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    a.Put(0, "common", "value");
    ExpectProven(Converse(&a, &b));
    for (int i = 0; i < 8; ++i) {
      const size_t size = (size_t{1} << 18) * i + (i % 3) - 1 + (i == 0);
      a.Put(0, absl::StrCat("a", i), std::string(size, 'a'));
      b.Put(0, absl::StrCat("b", i), std::string(size, 'b'));
      a.Put(1, absl::StrCat("both", i), std::string(size, 'c'));
      b.Put(1, absl::StrCat("both", i), std::string(size + 1, 'd'));
    }
    ConversationOptions options;
    options.initiator.exchange.mode = mode;
    options.initiator.max_turn_bytes = 300'000;
    options.responder.max_turn_bytes = 600'000;
    size_t longest = 0;
    options.tamper = [&longest](Role, std::string* message) {
      longest = std::max(longest, message->size());
    };
    const ConversationResult result = Converse(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_LT(longest, size_t{600'000});
    EXPECT_EQ(result.initiator.pairs_sent + result.responder.pairs_sent, 24u);
  }
}

TEST_F(SessionTest, ASixtyFourMegabyteValuePasses) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  b.Put(0, "small", "value");
  a.Put(0, "large", std::string(size_t{64} << 20, 'x'));
  const ConversationResult result = Converse(&a, &b);
  ExpectProven(result);
  EXPECT_EQ(b.Get(0, "large")->size(), size_t{64} << 20);
}

TEST_F(SessionTest, ATooLargeValueIsRefusedAndNeverCalledEqual) {
  for (const bool to_initiator : {false, true}) {
    for (const bool alone : {false, true}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      MemoryStorage* from = to_initiator ? &b : &a;
      MemoryStorage* to = to_initiator ? &a : &b;
      if (!alone) to->Put(0, "theirs", "value");
      from->Put(0, "large", std::string(3'000'000, 'x'));
      for (int i = 0; i < 50; ++i) from->Put(0, absl::StrCat(i), "value");
      ConversationOptions options;
      options.initiator.max_value_bytes = 2'999'999;
      options.responder.max_value_bytes = 2'999'999;
      const ConversationResult result = Converse(&a, &b, options);
      EXPECT_TRUE(result.finished);
      EXPECT_FALSE(result.initiator.proven_equal);
      EXPECT_FALSE(result.responder.proven_equal);
      EXPECT_TRUE(result.initiator.unsettled);
      EXPECT_TRUE(result.responder.unsettled);
      EXPECT_EQ(
          result.initiator.pairs_too_large + result.responder.pairs_too_large,
          1u);
      EXPECT_EQ(to->Get(0, "large"), std::nullopt);
      EXPECT_EQ(to->Get(0, "49"), "value");  // the rest went across
      EXPECT_EQ(from->records().size(), to->records().size() + 1);
    }
  }
}

TEST_F(SessionTest, InlineValuesSaveATurn) {
  uint32_t turns[2];
  for (const size_t inline_bytes : {0, 100}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    a.Put(0, "a", "value");
    b.Put(0, "b", "value");
    ConversationOptions options;
    options.initiator.inline_value_bytes = inline_bytes;
    options.responder.inline_value_bytes = inline_bytes;
    const ConversationResult result = Converse(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    turns[inline_bytes > 0] =
        result.initiator.round_trips + result.responder.round_trips;
  }
  EXPECT_LE(turns[1], turns[0]);
}

TEST_F(SessionTest, AdoptedPairsAreEqualOrOrderedByValueHash) {
  for (const size_t inline_bytes : {0, 100}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 1000; ++i) {
      a.Adopt(0, absl::StrCat("key", i), "value");
      b.Adopt(0, absl::StrCat("key", i), i < 10 ? "changed" : "value");
    }
    b.Put(0, "key500", "written");
    ConversationOptions options;
    options.initiator.inline_value_bytes = inline_bytes;
    const ConversationResult result = Converse(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_EQ(a.Get(0, "key0"),
              HashValue("changed") > HashValue("value") ? "changed" : "value");
    EXPECT_EQ(a.Get(0, "key500"), "written");
    EXPECT_EQ(result.initiator.pairs_applied + result.responder.pairs_applied,
              11u);
  }
}

// --- Writes that race -------------------------------------------------------

TEST_F(SessionTest, LocalWritesDuringTheSessionDoNotDisturbIt) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 300; ++i) {
      a.Put(0, absl::StrCat("a", i), "of a");
      b.Put(0, absl::StrCat("b", i), "of b");
    }
    int writes = 0;
    const auto write = [&] {
      ++writes;
      for (MemoryStorage* replica : {&a, &b}) {
        replica->Put(0, absl::StrCat("a", writes % 300), "raced");
        replica->Delete(0, absl::StrCat("b", writes % 300));
        replica->Put(1, absl::StrCat("new", writes), "raced");
      }
    };
    b.SetBeforeApply(write);
    ConversationOptions options;
    options.initiator.exchange.mode = mode;
    options.between_turns = write;
    const ConversationResult result = Converse(&a, &b, options);
    ExpectProven(result);  // as of the snapshots
    // 600 and what was written before the second snapshot.
    EXPECT_EQ(result.initiator.merged.count, 601u);
    EXPECT_EQ(b.Get(0, "a1"), "raced");
    EXPECT_EQ(a.Get(0, "b1"), std::nullopt);
    ExpectProven(Converse(&a, &b));
    b.SetBeforeApply(nullptr);
    ExpectProven(Converse(&a, &b));
    ExpectEqual(a, b);
  }
}

// --- What is held back, lost, or fails --------------------------------------

TEST_F(SessionTest, VersionsFarInTheFutureAreHeldBackAndNeverCalledEqual) {
  for (const bool to_initiator : {false, true}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* from = to_initiator ? &b : &a;
    MemoryStorage* to = to_initiator ? &a : &b;
    for (int i = 0; i < 50; ++i) {
      from->Put(0, absl::StrCat(i), "value");
      to->Put(0, absl::StrCat(50 + i), "value");
    }
    wall_ms_ += 100'000;
    from->Put(0, "ahead", "value");
    wall_ms_ -= 100'000;
    const ConversationResult result = Converse(&a, &b);
    EXPECT_TRUE(result.finished);
    EXPECT_FALSE(result.initiator.proven_equal);
    EXPECT_FALSE(result.responder.proven_equal);
    EXPECT_EQ(
        result.initiator.pairs_held_back + result.responder.pairs_held_back,
        1u);
    EXPECT_EQ(to->Get(0, "ahead"), std::nullopt);
    EXPECT_EQ(to->records().size(), 100u);
    wall_ms_ += 100'000;
    ExpectProven(Converse(&a, &b));
    ExpectEqual(a, b);
  }
}

TEST_F(SessionTest, InSpansHeldBackPairsLeaveTheRestAlone) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 500; ++i) {
    a.Put(0, absl::StrCat(i), "value");
    b.Put(0, absl::StrCat(500 + i), "value");
  }
  wall_ms_ += 100'000;
  a.Put(0, "ahead", "value");
  b.Put(0, "of b", "value");
  wall_ms_ -= 100'000;
  ConversationOptions options;
  options.initiator.max_span_elements = 100;
  options.responder.max_span_elements = 100;
  const ConversationResult result = Converse(&a, &b, options);
  EXPECT_TRUE(result.finished);
  EXPECT_FALSE(result.initiator.proven_equal);
  EXPECT_TRUE(result.responder.unsettled);
  EXPECT_EQ(a.records().size(), 1001u);
  EXPECT_EQ(b.records().size(), 1001u);
}

TEST_F(SessionTest, ARottenValueIsNotOffered) {
  for (const bool initiator_rotten : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* rotten = initiator_rotten ? &a : &b;
    for (int i = 0; i < 50; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    rotten->Rot(0, initiator_rotten ? "a7" : "b7");
    const ConversationResult result = Converse(&a, &b);
    EXPECT_TRUE(result.finished);
    EXPECT_FALSE(result.initiator.proven_equal ||
                 result.responder.proven_equal);
    EXPECT_TRUE(result.initiator.unsettled);
    EXPECT_EQ(
        result.initiator.pairs_unreadable + result.responder.pairs_unreadable,
        1u);
    EXPECT_EQ(a.records().size() + b.records().size(), 199u);
  }
}

TEST_F(SessionTest, WhatTravelsIsDurableAtItsSender) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "of a", "x");
  b.Delete(0, "of b");
  ConversationOptions options;
  int offers = 0;
  options.tamper = [&](Role from, std::string* message) {
    const auto type = static_cast<MessageType>((*message)[0] & kTypeMask);
    if (type != MessageType::kOffers && type != MessageType::kPairs) return;
    ++offers;
    const MemoryStorage& sender = from == Role::kInitiator ? a : b;
    EXPECT_EQ(sender.synced_records().count(
                  {0, from == Role::kInitiator ? "of a" : "of b"}),
              1u);
  };
  ExpectProven(Converse(&a, &b, options));
  EXPECT_EQ(offers, 2);
}

TEST_F(SessionTest, BusyComesBackLater) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  ConversationOptions options;
  options.responder_busy = true;
  const ConversationResult result = Converse(&a, &b, options);
  EXPECT_TRUE(result.finished);
  EXPECT_TRUE(result.initiator.busy);
  EXPECT_FALSE(result.initiator.proven_equal);
  EXPECT_TRUE(result.initiator_status.ok());
}

// A version is issued once, so this is damage; both sides must still come to
// the same content, whoever begins and whatever else differs.
TEST_F(SessionTest, OtherContentAtOneVersionIsSettledByValueHash) {
  for (const bool bloom : {false, true}) {
    for (const size_t turn_bytes : {size_t{1} << 20, size_t{200}}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat("key", i), "value");
      ExpectProven(Converse(&a, &b));
      for (int i = 0; i < 60; ++i) {
        const std::string key = absl::StrCat("key", i);
        if (i % 3 != 0) a.Forge(0, key, absl::StrCat("a", i));
        if (i % 3 != 1) b.Forge(0, key, absl::StrCat("b", i));
        a.Put(1, absl::StrCat("a", i), "x");
        b.Put(1, absl::StrCat("b", i), "x");
      }
      ConversationOptions options;
      options.initiator.max_turn_bytes = turn_bytes;
      options.responder.max_turn_bytes = turn_bytes;
      if (bloom) options.initiator.exchange.mode = ExchangeMode::kBloom;
      ExpectProven(Converse(&a, &b, options));
      ExpectEqual(a, b);
    }
  }
}

TEST_F(SessionTest, AnAdoptionIsNamed) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  b.SetUnavailable("adopting, 43 %");
  ConversationResult result = Converse(&a, &b);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.initiator_status,
            absl::UnavailableError("the peer cannot compare now: adopting, "
                                   "43 %"));
  EXPECT_TRUE(result.responder_status.ok());
  result = Converse(&b, &a);
  EXPECT_EQ(result.initiator_status, absl::UnavailableError("adopting, 43 %"));
  EXPECT_TRUE(result.transcript.empty());
}

TEST_F(SessionTest, AFailedApplyEndsTheSessionAndLosesNothing) {
  for (const bool at_initiator : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 50; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    (at_initiator ? a : b).FailApply(absl::ResourceExhaustedError("disk full"));
    const ConversationResult result = Converse(&a, &b);
    EXPECT_EQ((at_initiator ? result.initiator_status : result.responder_status)
                  .message(),
              "disk full");
    EXPECT_FALSE(result.initiator.proven_equal ||
                 result.responder.proven_equal);
    ExpectProven(Converse(&a, &b));
    ExpectEqual(a, b);
  }
}

TEST_F(SessionTest, AnOldSnapshotEndsUnprovenAndTheNextSessionGoesOn) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat(i), "value");
  uint64_t now = 0;
  ConversationOptions options;
  options.initiator.max_span_elements = 50;
  options.responder.max_span_elements = 50;
  options.now_ms = [&now] { return now; };
  options.between_turns = [&now] { now += 20'000; };
  int sessions = 0;
  while (true) {
    const ConversationResult result = Converse(&a, &b, options);
    ASSERT_TRUE(result.finished);
    if (result.proven()) break;
    EXPECT_TRUE(result.initiator.expired && result.responder.expired);
    ASSERT_LT(++sessions, 50);
  }
  EXPECT_GT(sessions, 1);
  ExpectEqual(a, b);
}

TEST_F(SessionTest, Cancelled) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat(i), "value");
  for (int polls = 0;; ++polls) {
    int left = polls;
    ConversationOptions options;
    options.cancelled = [&left] { return left-- <= 0; };
    const ConversationResult result = Converse(&a, &b, options);
    if (result.proven()) break;
    EXPECT_FALSE(result.initiator_status.ok() && result.responder_status.ok());
    ASSERT_LT(polls, 10'000);
  }
  ExpectEqual(a, b);
}

TEST_F(SessionTest, WhatIsProvenIsSynced) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 50; ++i) {
    a.Put(0, absl::StrCat("a", i), "value");
    b.Put(0, absl::StrCat("b", i), "value");
  }
  ExpectProven(Converse(&a, &b));
  a.Crash();
  b.Crash();
  EXPECT_EQ(a.records().size(), 100u);
  EXPECT_EQ(b.records().size(), 100u);
}

// --- Whatever the peer sends ------------------------------------------------

// A lie of the initiator's, in place of its first message of a type.
class LiesTest : public SessionTest {
 protected:
  // Returns what the responder says of it.
  std::string Lie(MessageType type, std::function<void(std::string*)> lie) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat(i), "of a");
    ExpectProven(Converse(&a, &b));
    for (int i = 0; i < 30; ++i) a.Put(0, absl::StrCat(i), "newer");
    for (int i = 20; i < 50; ++i) b.Put(0, absl::StrCat(i), "newest");
    const MemoryStorage::Records before = b.records();
    ConversationOptions options;
    options.initiator.exchange.mode = ExchangeMode::kBloom;
    bool done = false;
    options.tamper = [&](Role from, std::string* message) {
      if (done || from != Role::kInitiator ||
          ((*message)[0] & kTypeMask) != static_cast<uint8_t>(type)) {
        return;
      }
      lie(message);
      done = true;
    };
    const ConversationResult result = Converse(&a, &b, options);
    EXPECT_TRUE(done);
    EXPECT_FALSE(result.responder.proven_equal);
    EXPECT_EQ(result.responder_status.code(),
              absl::StatusCode::kInvalidArgument);
    // Newer values of b are still there.
    for (int i = 20; i < 50; ++i) {
      EXPECT_EQ(b.Get(0, absl::StrCat(i)), "newest");
    }
    return std::string(result.responder_status.message());
  }

  // The same, with another body behind the same head.
  std::string LieBody(MessageType type, const std::string& body) {
    return Lie(type, [&](std::string* message) {
      *message = message->substr(0, 1) + body;
    });
  }
  static std::string Offer(std::string_view key, uint32_t family = 0) {
    std::string body;
    PairEncoder(&body).Add({.family = family,
                            .key = key,
                            .version = {.time = 5, .replica = 9},
                            .kind = WirePair::Kind::kTombstone,
                            .value_size = 0,
                            .value = {},
                            .value_hash = {}});
    return body;
  }
};

TEST_F(LiesTest, AreNamed) {
  const auto replaced_by = [](std::string with) {
    return [with](std::string* message) { *message = with; };
  };
  const MessageType hello = MessageType::kHello;
  EXPECT_EQ(Lie(hello, replaced_by("\x82")), "Equal: nothing was summarised");
  EXPECT_EQ(Lie(hello, replaced_by("\x83\x05")),
            "Differs: no span was summarised");
  EXPECT_EQ(Lie(hello, replaced_by("\x84\x05")),
            "Locate: the whole was not summarised");
  EXPECT_EQ(Lie(hello, replaced_by("\x87xyz")),
            "Payload: no exchange is running");
  EXPECT_EQ(Lie(hello, replaced_by("\x88")), "Pass: nothing is going on");
  EXPECT_EQ(Lie(hello, replaced_by("\x89")), "Offers: nothing is shipped now");
  EXPECT_EQ(Lie(hello, replaced_by("\x8e")),
            "Abandon: no round of a span is over");
  EXPECT_EQ(Lie(hello, replaced_by("\x8f\x01")), "End: before the hello");
  EXPECT_EQ(Lie(hello, replaced_by("\x90")),
            "Setup: not a message of a session");
  EXPECT_EQ(Lie(hello, replaced_by("\x80")),
            "unknown message: not a message of a session");
  EXPECT_EQ(Lie(hello, replaced_by("\x9f")),
            "unknown message: not a message of a session");
  EXPECT_EQ(Lie(hello, replaced_by("\xa2")), "Equal: unknown flags");
  EXPECT_EQ(Lie(hello, replaced_by("\x81")), "Hello: no count and digest");
  EXPECT_EQ(LieBody(MessageType::kPayload, ""), "filter slice of a wrong size");
  EXPECT_EQ(LieBody(MessageType::kPayload, std::string(10'000, 'x')),
            "filter slice of a wrong size");
  EXPECT_EQ(Lie(MessageType::kPayload, replaced_by("\xc8")),
            "Pass: idle, but nothing is shipped");
  EXPECT_EQ(LieBody(MessageType::kOffers, "x"),
            "Offers: truncated or oversized key");
  EXPECT_EQ(LieBody(MessageType::kOffers, Offer("1", 2)),
            "Offers: unknown family");
  EXPECT_EQ(LieBody(MessageType::kOffers, Offer("1") + Offer("1")),
            "Offers: not in order");
  std::string many;
  PairEncoder encoder(&many);
  for (int i = 0; i < 301; ++i) {
    encoder.Add({.family = 0,
                 .key = "1",
                 .version = {},
                 .kind = WirePair::Kind::kTombstone,
                 .value_size = 0,
                 .value = {},
                 .value_hash = {}});
  }
  EXPECT_EQ(LieBody(MessageType::kPairs, many),
            "Pairs: more pairs than the peer has elements");
  EXPECT_EQ(LieBody(MessageType::kPairs, ""), "Pairs: empty");
  EXPECT_EQ(LieBody(MessageType::kValues, ""), "Values: empty");
  EXPECT_EQ(LieBody(MessageType::kValues, "\x01"),
            "Values: not the size that was offered");
  EXPECT_EQ(LieBody(MessageType::kValues, "\x7f"), "Values: truncated value");
  EXPECT_EQ(LieBody(MessageType::kValues, "\x80"), "Values: truncated size");
  EXPECT_EQ(LieBody(MessageType::kValues, std::string(500, '\0')),
            "Values: a value nobody asked for");
  EXPECT_EQ(LieBody(MessageType::kWants, "\x02"), "Wants: unknown form");
  EXPECT_EQ(Lie(MessageType::kWants, replaced_by("\x88")),
            "Wants: missing: offers went unanswered");
  EXPECT_EQ(Lie(MessageType::kOffers, replaced_by("\x0a")),
            "Wants: nothing was offered");
  EXPECT_EQ(
      Lie(MessageType::kOffers, replaced_by("\x86" + std::string(17, '\0'))),
      "Summary: before all was sent");
  EXPECT_EQ(Lie(MessageType::kOffers, replaced_by("\x06")),
            "Summary: not a count and a digest");
}

}  // namespace
}  // namespace rocksync

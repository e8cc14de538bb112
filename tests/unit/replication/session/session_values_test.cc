// Sessions: how values travel.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

TEST_F(SessionTest, LargeValuesTravelInChunksBothWays) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    a.Put(0, "common", "value");
    ExpectProven(DriveSession(&a, &b));
    for (int i = 0; i < 8; ++i) {
      const size_t size = (size_t{1} << 18) * i + (i % 3) - 1 + (i == 0);
      a.Put(0, absl::StrCat("a", i), std::string(size, 'a'));
      b.Put(0, absl::StrCat("b", i), std::string(size, 'b'));
      a.Put(1, absl::StrCat("both", i), std::string(size, 'c'));
      b.Put(1, absl::StrCat("both", i), std::string(size + 1, 'd'));
    }
    SessionRunOptions options;
    options.initiator.exchange.mode = mode;
    options.initiator.max_turn_bytes = 300'000;
    options.responder.max_turn_bytes = 600'000;
    size_t longest = 0;
    options.tamper = [&longest](Role, std::string* message) {
      longest = std::max(longest, message->size());
    };
    const SessionRunResult result = DriveSession(&a, &b, options);
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
  const SessionRunResult result = DriveSession(&a, &b);
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
      SessionRunOptions options;
      options.initiator.max_value_bytes = 2'999'999;
      options.responder.max_value_bytes = 2'999'999;
      const SessionRunResult result = DriveSession(&a, &b, options);
      EXPECT_TRUE(result.finished);
      EXPECT_FALSE(result.initiator.proven_equal);
      EXPECT_FALSE(result.responder.proven_equal);
      EXPECT_TRUE(result.initiator.refused);
      EXPECT_TRUE(result.responder.refused);
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
    SessionRunOptions options;
    options.initiator.limits.inline_value_bytes = inline_bytes;
    options.responder.limits.inline_value_bytes = inline_bytes;
    const SessionRunResult result = DriveSession(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    turns[inline_bytes > 0] =
        result.initiator.round_trips + result.responder.round_trips;
  }
  EXPECT_LE(turns[1], turns[0]);
}

TEST_F(SessionTest, UnversionedPairsAreEqualOrOrderedByHash) {
  const MemoryStorage c = Replica(3);
  const auto HashOf = [&](const char* key, const char* value) {
    return c.HashOf({0, key, {}, false, value});
  };
  for (const size_t inline_bytes : {0, 100}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 1000; ++i) {
      a.PutUnversioned(0, absl::StrCat("key", i), "value");
      b.PutUnversioned(0, absl::StrCat("key", i), i < 10 ? "changed" : "value");
    }
    b.Put(0, "key500", "written");
    SessionRunOptions options;
    options.initiator.limits.inline_value_bytes = inline_bytes;
    const SessionRunResult result = DriveSession(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_EQ(a.Get(0, "key0"),
              HashOf("key0", "changed") > HashOf("key0", "value") ? "changed"
                                                                  : "value");
    EXPECT_EQ(a.Get(0, "key500"), "written");
    EXPECT_EQ(result.initiator.pairs_applied + result.responder.pairs_applied,
              11u);
  }
}

}  // namespace
}  // namespace rocksync

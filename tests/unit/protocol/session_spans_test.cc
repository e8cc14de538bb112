// Sessions whose snapshots do not fit into memory at once.

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/protocol/session_fixture.h"

namespace rocksync {
namespace {

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

}  // namespace
}  // namespace rocksync

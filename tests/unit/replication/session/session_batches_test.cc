// Sessions whose snapshots do not fit into memory at once.

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

struct BatchCase {
  ExchangeMode mode;
  size_t initiator_batch;
  size_t responder_batch;
};

class BatchesTest : public SessionTest,
                    public testing::WithParamInterface<BatchCase> {
 protected:
  SessionRunResult Meet(MemoryStorage* a, MemoryStorage* b) {
    SessionRunOptions options;
    options.initiator.exchange.mode = GetParam().mode;
    options.initiator.max_batch_elements = GetParam().initiator_batch;
    options.responder.max_batch_elements = GetParam().responder_batch;
    return DriveSession(a, b, options);
  }
};

TEST_P(BatchesTest, FewDifferences) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 3000; ++i) a.Put(0, absl::StrCat("key", i), "old");
  ExpectProven(Meet(&a, &b));
  ExpectEqual(a, b);
  for (int i = 0; i < 40; ++i) a.Put(0, absl::StrCat("key", i), "of a");
  for (int i = 20; i < 60; ++i) b.Put(0, absl::StrCat("key", i), "of b");
  b.Delete(0, "key100");
  a.Put(0, "new", "of a");
  const SessionRunResult result = Meet(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  // Only leaves that differ are read.
  EXPECT_LT(result.initiator.elements_compared, 1000u);
}

TEST_P(BatchesTest, NothingInCommon) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1500; ++i) a.Put(0, absl::StrCat("a", i), "of a");
  for (int i = 0; i < 1200; ++i) b.Put(0, absl::StrCat("b", i), "of b");
  const SessionRunResult result = Meet(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.initiator.pairs_to_send, 1500u);
  EXPECT_EQ(result.responder.pairs_to_send, 1200u);
  // Without what the first filter of Bloom filters hid.
  EXPECT_GT(result.initiator.pairs_to_receive, 300u);
  EXPECT_LE(result.initiator.pairs_to_receive, 1200u);
}

TEST_P(BatchesTest, AnEmptySide) {
  for (const bool initiator_empty : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* full = initiator_empty ? &b : &a;
    for (int i = 0; i < 2000; ++i) full->Put(0, absl::StrCat("a", i), "value");
    const SessionRunResult result = Meet(&a, &b);
    ExpectProven(result);
    ExpectEqual(a, b);
    EXPECT_EQ(result.initiator.pairs_sent + result.responder.pairs_sent, 2000u);
    EXPECT_EQ(result.initiator.exchanges, 0u);  // no exchange for that
    const auto& [sender, receiver] =
        initiator_empty ? std::tie(result.responder, result.initiator)
                        : std::tie(result.initiator, result.responder);
    EXPECT_EQ(sender.pairs_to_send, 2000u);
    EXPECT_EQ(sender.pairs_to_receive, 0u);
    EXPECT_EQ(receiver.pairs_to_send, 0u);
    EXPECT_EQ(receiver.pairs_to_receive, 2000u);
  }
}

TEST_P(BatchesTest, ATinySideAndALargeOne) {
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

// A set that one side takes at once may be more than the other can.
TEST_P(BatchesTest, ASideOfMuchMemoryAndOneOfLittle) {
  for (const int few : {0, 30, 90}) {
    for (const bool initiator_has_little : {true, false}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      MemoryStorage* of_much = initiator_has_little ? &b : &a;
      MemoryStorage* of_little = initiator_has_little ? &a : &b;
      for (int i = 0; i < 3000; ++i) {
        of_much->Put(0, absl::StrCat("a", i), "value");
      }
      for (int i = 0; i < few; ++i) {
        of_little->Put(0, absl::StrCat("b", i), "value");
      }
      SessionRunOptions options;
      options.initiator.exchange.mode = GetParam().mode;
      (initiator_has_little ? options.initiator : options.responder)
          .max_batch_elements = 100;
      ExpectProven(DriveSession(&a, &b, options));
      ExpectEqual(a, b);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, BatchesTest,
    testing::Values(BatchCase{ExchangeMode::kAdaptive, 100, 100},
                    BatchCase{ExchangeMode::kBloom, 100, 100},
                    BatchCase{ExchangeMode::kAdaptive, 1, 1},
                    BatchCase{ExchangeMode::kAdaptive, 1000, 300},
                    BatchCase{ExchangeMode::kAdaptive, 300, 1000},
                    BatchCase{ExchangeMode::kBloom, 1000, 300},
                    BatchCase{ExchangeMode::kBloom, 300, 1000}));

}  // namespace
}  // namespace rocksync

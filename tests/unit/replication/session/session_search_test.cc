// Sessions that search for the leaves in which two replicas differ.

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class SearchTest : public SessionTest {
 protected:
  static constexpr int kPairs = 10'000;

  SearchTest() {
    for (int i = 0; i < kPairs; ++i) a_.Put(0, absl::StrCat("key", i), "old");
    options_.initiator.max_batch_elements = kPairs / 4;
    ExpectProven(DriveSession(&a_, &b_));
  }

  // Lets the responder's Locate carry these flags; what the initiator says.
  std::string Locate(uint8_t flags) {
    a_.Put(0, "key1", "of a");
    options_.tamper = [flags](Role from, std::string* message) {
      const auto head = static_cast<uint8_t>((*message)[0]);
      if (from == Role::kInitiator ||
          (head & kTypeMask) != static_cast<uint8_t>(MessageType::kLocate)) {
        return;
      }
      (*message)[0] = static_cast<char>((head & ~0x60) | flags);
    };
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    EXPECT_FALSE(result.initiator.proven_equal);
    EXPECT_EQ(a_.Get(0, "key1"), "of a");
    return std::string(result.initiator_status.message());
  }

  MemoryStorage a_ = Replica(1);
  MemoryStorage b_ = Replica(2);
  SessionRunOptions options_;
};

TEST_F(SearchTest, ReadsTheLeavesThatDifferAndNoOther) {
  for (const Prefer prefer : {Prefer::kBytes, Prefer::kRoundTrips}) {
    for (const int changed : {1, 3, 10, 100, 1000}) {
      options_.initiator.exchange.prefer = prefer;
      for (int i = 0; i < changed; ++i) {
        (i % 2 == 0 ? a_ : b_)
            .Put(0, absl::StrCat("key", i * (kPairs / changed)),
                 absl::StrCat(changed, "new"));
      }
      const SessionRunResult result = DriveSession(&a_, &b_, options_);
      ExpectProven(result);
      ExpectEqual(a_, b_);
      // At 0.3 elements a leaf. The next one finds what the first has missed.
      EXPECT_LE(result.initiator.elements_compared,
                static_cast<uint64_t>(2 * changed + 10));
    }
  }
}

TEST_F(SearchTest, TakesTheirNumberForTheEstimateOfTheExchange) {
  for (int i = 0; i < 300; ++i) a_.Put(0, absl::StrCat("key", i), "new");
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  ExpectProven(result);
  const std::string plans =
      absl::StrCat(result.initiator.plan, " | ", result.responder.plan);
  EXPECT_NE(plans.find("expected"), std::string::npos) << plans;
  EXPECT_EQ(plans.find("sketch of 3+13, estimate"), std::string::npos) << plans;
}

// Parities of everything take fewer bytes than to find the leaves.
TEST_F(SearchTest, ReadsAllIfOneSideHasManyMore) {
  options_.initiator.max_batch_elements = kPairs * 3 / 4;
  bool searched = false;
  options_.tamper = [&searched](Role, std::string* message) {
    const auto head = static_cast<uint8_t>((*message)[0]);
    searched |=
        (head & kTypeMask) == static_cast<uint8_t>(MessageType::kLocate) &&
        (head & kFlagSearch) != 0;
  };
  size_t bytes = 0;
  for (const bool of_a : {true, false}) {
    for (int i = 0; i < 2000; ++i) {
      (of_a ? a_ : b_).Put(1, absl::StrCat(of_a, " more ", i), "new");
    }
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    ExpectProven(result);
    ExpectEqual(a_, b_);
    EXPECT_FALSE(searched);
    EXPECT_GE(result.initiator.batches, 2u);
    const std::string plans =
        absl::StrCat(result.initiator.plan, " | ", result.responder.plan);
    EXPECT_NE(plans.find("parities"), std::string::npos) << plans;
    bytes += result.initiator.filter_bytes;
  }
  EXPECT_LE(bytes, 2u * 2000 * 16 / 8);  // 16 bits each
}

// The first batch, of leaves that no search has found, tells what to expect of
// the second.
TEST_F(SearchTest, BatchesTellOfTheNext) {
  options_.initiator.max_batch_elements = kPairs * 3 / 4;
  for (int i = 0; i < 2500; ++i) a_.Put(1, absl::StrCat("of a ", i), "new");
  for (int i = 0; i < 2000; ++i) b_.Put(1, absl::StrCat("of b ", i), "new");
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  ExpectProven(result);
  ExpectEqual(a_, b_);
  const std::string plans =
      absl::StrCat(result.initiator.plan, " | ", result.responder.plan);
  EXPECT_NE(plans.find("expected"), std::string::npos) << plans;
}

// Few more on one side are not worth it, nor if round trips matter.
TEST_F(SearchTest, SearchesIfOneSideHasFewMore) {
  options_.initiator.max_batch_elements = kPairs * 3 / 4;
  for (const Prefer prefer : {Prefer::kBytes, Prefer::kRoundTrips}) {
    options_.initiator.exchange.prefer = prefer;
    const int more = prefer == Prefer::kBytes ? 200 : 2000;
    for (int i = 0; i < more; ++i) {
      a_.Put(1, absl::StrCat(more, " more ", i), "new");
    }
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    ExpectProven(result);
    EXPECT_LE(result.initiator.elements_compared, kPairs / 2u);
  }
}

TEST_F(SearchTest, IsNotInFinerLeavesAtFirst) {
  EXPECT_EQ(Locate(0x60),
            "Locate: not in answer to Hello or a summary of everything");
}

TEST_F(SearchTest, IsNotInModeBloom) {
  options_.initiator.exchange.mode = ExchangeMode::kBloom;
  EXPECT_EQ(Locate(0x40), "Locate: a search where there is none");
}

}  // namespace
}  // namespace rocksync

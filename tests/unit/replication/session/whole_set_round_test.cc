#include "replication/session/whole_set_round.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/replication/session/comparison_fixture.h"

namespace rocksync {
namespace {

class WholeSetRoundTest : public ComparisonTest {
 protected:
  // The peer says Locate, and searches.
  void Search() {
    std::string count;
    EncodeCount(1000, &count);
    bool everything = false;
    ASSERT_TRUE(
        parts_.locator.Receive(count, kFlagSearch, false, &everything).ok());
  }
  // Finds in these leaves are left to an exchange, which the peer begins
  // unless it asks for an element of another leaf.
  std::string Unknown(std::vector<uint32_t> leaves, uint64_t elements,
                      bool asks) {
    PureLeavesHead head;
    head.elements = elements;
    head.theirs = elements;
    head.expected = 2;
    head.unknown = std::move(leaves);
    if (asks) {
      head.asked.push_back({head.unknown.back(), 0});
      head.unknown.pop_back();
    }
    std::string body;
    EncodePureLeaves(head, parts_.exchanges.symbol_key().bits, kLeafCount,
                     &body);
    return body;
  }

  WholeSetRound round_{&parts_};
};

TEST_F(WholeSetRoundTest, AfterTheFirstSearchesOnly) {
  for (uint32_t i = 0; i < kMaxPureLeafSearches; ++i) {
    Search();
    EXPECT_TRUE(round_.may_propose());
  }
  Search();
  EXPECT_FALSE(round_.may_propose());
}

TEST_F(WholeSetRoundTest, NotOnceALeafIsClosed) {
  Search();
  parts_.location.Close({1}, parts_.location.Sum({1}));
  EXPECT_FALSE(round_.may_propose());
}

TEST_F(WholeSetRoundTest, NoExchangeIfNothingIsUnknown) {
  bool proposed = false;
  ASSERT_TRUE(round_.Propose({}, &proposed, &turn_).ok());
  EXPECT_TRUE(proposed);
  EXPECT_EQ(Said(MessageType::kLeafBatch), "");
  ASSERT_NE(round_.rounds(), nullptr);
  EXPECT_FALSE(round_.rounds()->exchanged());
  EXPECT_EQ(round_.rounds()->merged(), parts_.location.total());
  round_.Close();
  EXPECT_EQ(round_.rounds(), nullptr);
}

TEST_F(WholeSetRoundTest, AnExchangeTellsOfTheUnknownLeaves) {
  std::vector<uint32_t> leaves;
  for (const uint32_t leaf : parts_.location.AllLeaves()) {
    if (parts_.location.leaves()[leaf].count > 0) leaves.push_back(leaf);
  }
  leaves.resize(2);
  ASSERT_TRUE(round_.ReceiveProposal(Unknown(leaves, 3, true)).ok());
  EXPECT_EQ(round_.rounds(), nullptr);
  EXPECT_FALSE(round_.TooLarge());
  ASSERT_TRUE(round_.Differ(&turn_).ok());
  ASSERT_NE(round_.rounds(), nullptr);
  EXPECT_TRUE(round_.rounds()->exchanged());
}

TEST_F(WholeSetRoundTest, ThePeerBeginsTheExchangeIfItAsksForNothing) {
  std::vector<uint32_t> leaves;
  for (const uint32_t leaf : parts_.location.AllLeaves()) {
    if (parts_.location.leaves()[leaf].count > 0) leaves.push_back(leaf);
  }
  leaves.resize(2);
  ASSERT_TRUE(round_.ReceiveProposal(Unknown(leaves, 3, false)).ok());
  ASSERT_NE(round_.rounds(), nullptr);
  EXPECT_TRUE(round_.rounds()->exchanging());
}

TEST_F(WholeSetRoundTest, FewerLeavesIfTheExchangeIsTooLarge) {
  const std::vector<uint32_t> leaves = parts_.location.AllLeaves();
  for (const bool asks : {true, false}) {
    ASSERT_TRUE(round_.ReceiveProposal(Unknown(leaves, 3, asks)).ok());
    EXPECT_EQ(round_.exchange_begins(), !asks);
    EXPECT_TRUE(round_.TooLarge());
    const std::vector<uint32_t> fewer = round_.TakeFewer();
    EXPECT_LT(fewer.size(), leaves.size());
    EXPECT_LE(parts_.location.Sum(fewer).count, options_.max_batch_elements);
    EXPECT_EQ(round_.rounds(), nullptr);
  }
}

}  // namespace
}  // namespace rocksync

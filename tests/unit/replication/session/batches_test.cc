#include "replication/session/batches.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/replication/session/comparison_fixture.h"

namespace rocksync {
namespace {

class BatchesTest : public ComparisonTest {
 protected:
  std::string Proposal(std::vector<uint32_t> leaves, const Digest& digest) {
    std::string body;
    EncodeLeafBatch({std::move(leaves), digest, 0, 0}, &body);
    return body;
  }
  // As this side holds them.
  std::string OwnProposal(const std::vector<uint32_t>& leaves) {
    return Proposal(leaves, parts_.location.Sum(leaves));
  }
  void FindAll() { parts_.location.FoundAll(); }

  Batches batches_{&parts_};
};

TEST_F(BatchesTest, AllLeavesAreWorkedOff) {
  EXPECT_FALSE(batches_.any_left());
  EXPECT_FALSE(batches_.ProposeNext(&turn_));
  FindAll();
  const Digest total = parts_.location.total();
  int batches = 0;
  while (batches_.ProposeNext(&turn_)) {
    LeafBatchHead head;
    ASSERT_TRUE(DecodeLeafBatch(Said(MessageType::kLeafBatch), &head).ok());
    EXPECT_EQ(head.leaves, batches_.leaves());
    EXPECT_LE(head.digest.count, options_.max_batch_elements);
    batches_.Close();
    EXPECT_TRUE(batches_.leaves().empty());
    ++batches;
  }
  EXPECT_GE(batches, 10);
  EXPECT_EQ(parts_.location.total(), total);
}

TEST_F(BatchesTest, ABatchIsEqualByItsDigest) {
  ASSERT_TRUE(batches_.ReceiveProposal(OwnProposal({1, 2}), false).ok());
  EXPECT_EQ(batches_.Decide(), Batches::Answer::kEqual);
  Digest other = parts_.location.Sum({1, 2});
  other.low ^= 1;
  ASSERT_TRUE(batches_.ReceiveProposal(Proposal({1, 2}, other), false).ok());
  EXPECT_EQ(batches_.Decide(), Batches::Answer::kDiffers);
  EXPECT_EQ(batches_.peer_count(), other.count);
}

TEST_F(BatchesTest, TooManyElementsBecomeFewerLeaves) {
  const std::vector<uint32_t> all = parts_.location.AllLeaves();
  ASSERT_TRUE(batches_.ReceiveProposal(Proposal(all, {}), false).ok());
  ASSERT_EQ(batches_.Decide(), Batches::Answer::kFewer);
  EXPECT_LT(batches_.leaves().size(), all.size());
  EXPECT_LE(parts_.location.Sum(batches_.leaves()).count,
            options_.max_batch_elements);
  batches_.ProposeFewer(&turn_);
  LeafBatchHead head;
  ASSERT_TRUE(DecodeLeafBatch(Said(MessageType::kLeafBatch), &head).ok());
  EXPECT_EQ(head.leaves, batches_.leaves());
}

// What does not differ takes half of the memory.
TEST_F(BatchesTest, ABatchOfWhichLittleDiffersMayBeLarger) {
  parts_.locator.set_peer_total(100);
  parts_.location.FoundLeaves(parts_.location.AllLeaves(), {1, 0});
  ASSERT_TRUE(batches_.ProposeNext(&turn_));
  const uint64_t elements = parts_.location.Sum(batches_.leaves()).count;
  EXPECT_GT(elements, 3 * options_.max_batch_elements / 2);
  EXPECT_LE(elements, 2 * options_.max_batch_elements);
  // The peer agrees if it expects the same, and not if more differs.
  std::vector<uint32_t> leaves = batches_.leaves();
  while (parts_.location.Sum(leaves).count > elements - 2) leaves.pop_back();
  const Digest other{.count = elements - 2, .high = 1, .low = 1};
  for (const uint64_t expected : {1, 100}) {
    std::string body;
    EncodeLeafBatch({leaves, other, expected, 0}, &body);
    Batches peer(&parts_);
    ASSERT_TRUE(peer.ReceiveProposal(body, false).ok());
    EXPECT_EQ(peer.Decide(), expected == 1 ? Batches::Answer::kDiffers
                                           : Batches::Answer::kFewer);
  }
}

TEST_F(BatchesTest, ProposalsThatCannotBeAreRefused) {
  batches_.Propose({1, 2}, {}, &turn_);
  EXPECT_EQ(batches_.ReceiveProposal(OwnProposal({3, 4}), true).message(),
            "LeafBatch: not narrower than the one proposed");
  ASSERT_TRUE(batches_.ReceiveProposal(OwnProposal({1}), true).ok());
  batches_.Close();
  EXPECT_EQ(batches_.ReceiveProposal(OwnProposal({1}), false).message(),
            "LeafBatch: a leaf that is closed");
}

// The last batch tells of everything, unless one was abandoned before.
TEST_F(BatchesTest, TheLastBatch) {
  for (const bool abandoned : {false, true}) {
    Batches batches(&parts_);
    if (abandoned) batches.Abandon();
    batches.TakeAllLeaves();
    EXPECT_TRUE(batches.only());
    EXPECT_FALSE(batches.last());
    ASSERT_TRUE(batches.Differ(5, &turn_).ok());
    EXPECT_EQ(batches.last(), !abandoned);
    EXPECT_EQ(batches.Beside(), Digest());
  }
}

}  // namespace
}  // namespace rocksync

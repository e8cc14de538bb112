#include "replication/session/summaries.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/replication/session/comparison_fixture.h"

namespace rocksync {
namespace {

class SummariesTest : public ComparisonTest {
 protected:
  // Rounds over the first leaf, of which this side holds the same as the peer.
  void OpenBatch() {
    batches_.Propose({0}, {}, &turn_);
    Said(MessageType::kLeafBatch);
    std::string count;
    EncodeCount(5, &count);
    ASSERT_TRUE(batches_.ReceiveDiffers(count).ok());
  }
  std::string Body(const Summary& summary) {
    std::string body;
    EncodeSummary(summary, &body);
    return body;
  }

  Batches batches_{&parts_};
  WholeSetRound whole_set_{&parts_};
  Summaries summaries_{&parts_, &batches_, &whole_set_};
};

TEST_F(SummariesTest, OfEverythingUnlessABatchIsOpen) {
  EXPECT_TRUE(summaries_.of_all());
  report_.left_out = 3;
  ASSERT_TRUE(summaries_.Say(&turn_).ok());
  Summary said;
  ASSERT_TRUE(DecodeSummary(Said(MessageType::kSummary), &said).ok());
  EXPECT_EQ(said.digest, parts_.location.total());
  EXPECT_EQ(said.left_out, 3u);

  OpenBatch();
  EXPECT_FALSE(summaries_.of_all());
  ASSERT_TRUE(summaries_.Say(&turn_).ok());
  ASSERT_TRUE(DecodeSummary(Said(MessageType::kSummary), &said).ok());
  EXPECT_EQ(said.digest, parts_.location.Sum({0}));
  EXPECT_EQ(said.left_out, 0u);
  EXPECT_EQ(
      summaries_.Receive(Body({.digest = {}, .left_out = 1}), 0).message(),
      "Summary: pairs left out of a batch");
}

TEST_F(SummariesTest, NothingIsLeftOutOfAProof) {
  for (const uint64_t here : {0, 1}) {
    for (const uint64_t there : {0, 1}) {
      report_.left_out = here;
      std::string body;
      EncodeLeftOut(there, &body);
      ASSERT_TRUE(summaries_.ReceiveEqual(body, /*of_all=*/true).ok());
      EXPECT_TRUE(report_.digests_equal);
      EXPECT_EQ(report_.proven_equal, here == 0 && there == 0);
      EXPECT_EQ(report_.merged, parts_.location.total());
    }
  }
}

TEST_F(SummariesTest, AnEqualBatchProvesNothing) {
  OpenBatch();
  ASSERT_TRUE(summaries_.ReceiveEqual("", /*of_all=*/false).ok());
  EXPECT_FALSE(report_.digests_equal);
  EXPECT_EQ(summaries_.ReceiveEqual("\x01", /*of_all=*/false).message(),
            "Equal: too long");
}

TEST_F(SummariesTest, ASessionThatComparesProvesNothing) {
  report_.verifying = true;
  ASSERT_TRUE(summaries_.SendEqual(&turn_).ok());
  EXPECT_TRUE(report_.compared);
  EXPECT_FALSE(report_.digests_equal);
  EXPECT_FALSE(report_.proven_equal);
}

TEST_F(SummariesTest, ThePeerRefuses) {
  OpenBatch();
  const Digest digest = {.count = 7};
  ASSERT_TRUE(summaries_.Receive(Body({.digest = digest}), kFlagRefused).ok());
  EXPECT_TRUE(summaries_.peer_refuses());
  EXPECT_EQ(summaries_.peer(), digest);
  ASSERT_TRUE(summaries_.Receive(Body({.digest = digest}), 0).ok());
  EXPECT_FALSE(summaries_.peer_refuses());
}

}  // namespace
}  // namespace rocksync

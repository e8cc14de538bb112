#include "replication/session/stages.h"

#include <array>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace rocksync {
namespace {

// All messages of a session that may come in a stage.
std::string Coming(Stage stage, const StageFacts& terms = {}) {
  std::string coming;
  for (int type = 1; type <= kMaxMessageType; ++type) {
    for (const int flags : {0, 0x20}) {
      const auto message = static_cast<MessageType>(type);
      if (!MayCome(stage, terms, message, static_cast<uint8_t>(flags))) {
        continue;
      }
      // Of the others this flag does not say what they are.
      const bool told_apart = message == MessageType::kDiffers ||
                              message == MessageType::kLeafBatch ||
                              message == MessageType::kSummary;
      if (flags != 0 && !told_apart) continue;
      coming += std::string(MessageName(message)) + (flags != 0 ? "+ " : " ");
    }
  }
  return coming;
}

TEST(Stages, WholeSets) {
  EXPECT_EQ(Coming(Stage::kHelloSent), "Equal Differs Locate ");
  EXPECT_EQ(Coming(Stage::kTotalSent), "Equal Locate LeafBatch ");
}

TEST(Stages, Leaves) {
  EXPECT_EQ(Coming(Stage::kLocating), "Payload Pass ");
  EXPECT_EQ(Coming(Stage::kSearching), "LeafBatch Summary+ Payload Pass ");
  EXPECT_EQ(Coming(Stage::kSearching, {.may_be_pure = true}),
            "LeafBatch LeafBatch+ Summary+ Payload Pass ");
  EXPECT_EQ(Coming(Stage::kChoosing, {.may_be_pure = true}),
            "LeafBatch Summary+ ");
  EXPECT_EQ(Coming(Stage::kBatchSent), "Equal Differs LeafBatch ");
  EXPECT_EQ(Coming(Stage::kPureLeavesSent), "Differs Differs+ LeafBatch ");
  EXPECT_EQ(Coming(Stage::kPureLeavesBegun), "LeafBatch Payload Pass ");
  EXPECT_EQ(Coming(Stage::kPureLeavesRefused), "Payload ");
}

TEST(Stages, Rounds) {
  const std::string work = "Offers Wants Values Chunk Pairs ";
  const std::string lists = "Claims Holdings ";
  EXPECT_EQ(Coming(Stage::kRound), "Payload Pass ");
  EXPECT_EQ(Coming(Stage::kRound, {.works = true}),
            "Differs Summary Pass " + work + lists);
  EXPECT_EQ(Coming(Stage::kRound, {.whole_set = true, .works = true}),
            "Locate Summary Pass " + work + lists);
  EXPECT_EQ(Coming(Stage::kRoundSent), "Equal Differs Abandon ");
  EXPECT_EQ(Coming(Stage::kRoundSent, {.only = true}), "Equal Differs ");
  EXPECT_EQ(Coming(Stage::kRoundSent, {.whole_set = true}), "Equal Locate ");
  EXPECT_EQ(Coming(Stage::kListing), "Pass " + work + lists);
}

// What was received is answered before anything else comes; what was said is
// answered before anything else is said.
TEST(Stages, Answers) {
  const StageFacts all = {
      .whole_set = true, .only = true, .works = true, .may_be_pure = true};
  int awaited = 0;
  int answered = 0;
  for (int i = 0; i <= static_cast<int>(Stage::kOver); ++i) {
    const auto stage = static_cast<Stage>(i);
    EXPECT_FALSE(Awaits(stage) && Answers(stage));
    EXPECT_EQ(Coming(stage, all).empty(),
              Answers(stage) || stage == Stage::kOver);
    awaited += Awaits(stage);
    answered += Answers(stage);
  }
  EXPECT_EQ(awaited, 5);
  EXPECT_EQ(answered, 5);
}

}  // namespace
}  // namespace rocksync

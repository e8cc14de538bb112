#include "replication/session/stages.h"

namespace rocksync {
namespace {

// Kinds of messages as bits; some flags make a kind of their own.
constexpr uint32_t kEqual = 1 << 0;
constexpr uint32_t kDiffers = 1 << 1;
constexpr uint32_t kFailedPureLeaves = 1 << 2;
constexpr uint32_t kLocate = 1 << 3;
constexpr uint32_t kBatch = 1 << 4;
constexpr uint32_t kPureLeaves = 1 << 5;
constexpr uint32_t kRoundSummary = 1 << 6;
constexpr uint32_t kTotalSummary = 1 << 7;
constexpr uint32_t kPayload = 1 << 8;
constexpr uint32_t kPass = 1 << 9;
constexpr uint32_t kAbandon = 1 << 10;
constexpr uint32_t kWork = 1 << 11;
constexpr uint32_t kFinerLocate = 1 << 12;

uint32_t KindOf(MessageType type, uint8_t flags) {
  switch (type) {
    case MessageType::kEqual:
      return kEqual;
    case MessageType::kDiffers:
      return (flags & kFlagFailed) != 0 ? kFailedPureLeaves : kDiffers;
    case MessageType::kLocate:
      return flags == kFlagFiner ? kFinerLocate : kLocate;
    case MessageType::kLeafBatch:
      return (flags & kFlagPureLeaves) != 0 ? kPureLeaves : kBatch;
    case MessageType::kSummary:
      return (flags & kFlagTotal) != 0 ? kTotalSummary : kRoundSummary;
    case MessageType::kPayload:
      return kPayload;
    case MessageType::kPass:
      return kPass;
    case MessageType::kAbandon:
      return kAbandon;
    default:
      return IsOfWork(type) ? kWork : 0;
  }
}

uint32_t Expected(Stage stage, const StageFacts& facts) {
  switch (stage) {
    case Stage::kHelloSent:
      return kEqual | kDiffers | kLocate;
    case Stage::kTotalSent:
      return kEqual | kBatch | kLocate;
    case Stage::kLocating:
      return kPayload | kPass;
    case Stage::kSearching:
      return kPayload | kPass | kBatch | kTotalSummary |
             (facts.may_be_pure ? kPureLeaves : 0) |
             (facts.may_refine ? kFinerLocate : 0);
    case Stage::kSearchRefused:
      return kPayload;
    case Stage::kChoosing:
      return kBatch | kTotalSummary;
    case Stage::kBatchSent:  // kBatch: not so many leaves at once
      return kEqual | kDiffers | kBatch;
    case Stage::kPureLeavesSent:
      return kDiffers | kFailedPureLeaves | kBatch;
    case Stage::kPureLeavesBegun:
      return kPayload | kPass | kBatch;
    case Stage::kPureLeavesRefused:
      return kPayload;
    case Stage::kRound:
      if (!facts.works) return kPayload | kPass;
      return kWork | kPass | kRoundSummary |
             (facts.whole_set ? kLocate : kDiffers);
    case Stage::kRoundSent:
      if (facts.whole_set) return kEqual | kLocate;
      return kEqual | kDiffers | (facts.only ? 0 : kAbandon);
    case Stage::kListing:
      return kWork | kPass;
    case Stage::kHelloReceived:
    case Stage::kTotalReceived:
    case Stage::kBatchReceived:
    case Stage::kPureLeavesReceived:
    case Stage::kRoundReceived:
    case Stage::kOver:
      return 0;
  }
  return 0;
}

}  // namespace

bool Awaits(Stage stage) {
  return stage == Stage::kHelloSent || stage == Stage::kTotalSent ||
         stage == Stage::kBatchSent || stage == Stage::kPureLeavesSent ||
         stage == Stage::kRoundSent;
}

bool Answers(Stage stage) {
  return stage == Stage::kHelloReceived || stage == Stage::kTotalReceived ||
         stage == Stage::kBatchReceived ||
         stage == Stage::kPureLeavesReceived || stage == Stage::kRoundReceived;
}

bool MayCome(Stage stage, const StageFacts& facts, MessageType type,
             uint8_t flags) {
  return (Expected(stage, facts) & KindOf(type, flags)) != 0;
}

}  // namespace rocksync

#include "replication/session/message_type.h"

#include <array>
#include <cstddef>

namespace rocksync {
namespace {

constexpr std::array<std::string_view, kMaxMessageType + 1> kMessageNames = {
    "unknown message",
    "Hello",
    "Equal",
    "Differs",
    "Locate",
    "LeafBatch",
    "Summary",
    "Payload",
    "Pass",
    "Offers",
    "Wants",
    "Values",
    "Chunk",
    "Pairs",
    "Abandon",
    "End",
    "Setup",
    "Confirm",
    "Refusal",
    "Claims",
    "Holdings",
    "Announcement",
    "AuthHello",
    "Challenge",
    "Request",
    "Reply",
    "Heartbeat",
    "Proof",
    "Farewell",
    "Clone",
    "StreamOpen"};

}  // namespace

std::string_view MessageName(MessageType type) {
  const auto number = static_cast<size_t>(type);
  return kMessageNames[number < kMessageNames.size() ? number : 0];
}

}  // namespace rocksync

// Watches the messages of a connection for rounds whose exchange was decoded
// from sketches alone, for a planted fault: to act on such a decode without
// comparing digests afterwards.

#ifndef ROCKSYNC_TESTS_SIMULATION_SKETCH_ROUNDS_H_
#define ROCKSYNC_TESTS_SIMULATION_SKETCH_ROUNDS_H_

#include <string_view>

#include "replication/reconcile/exchange_header.h"
#include "replication/reconcile/exchange_messages.h"
#include "replication/session/messages.h"

namespace rocksync {

class SketchRounds {
 public:
  // The next message of a session, in either direction. True if it says that
  // the two still differ after such a round.
  bool Denies(std::string_view message) {
    const auto type =
        static_cast<MessageType>(static_cast<uint8_t>(message[0]) & kTypeMask);
    const bool denies = type == MessageType::kDiffers &&
                        last_ == MessageType::kSummary && sketches_ &&
                        !filters_;
    if (type == MessageType::kDiffers || type == MessageType::kLocate) {
      opens_ = true;
      sketches_ = filters_ = false;
    } else if (type == MessageType::kPayload) {
      TakePayload(message.substr(1));
    }
    last_ = type;
    return denies;
  }

 private:
  void TakePayload(std::string_view payload) {
    Follows follows = Follows::kPlanner;
    if (opens_) {
      opens_ = false;
      constexpr uint8_t kBloom = 0x01;
      const auto mode = static_cast<uint8_t>(payload[0]);
      follows = static_cast<Follows>(mode & 0x60);
      sketches_ = mode != kBloom;
      if (!sketches_) return;
      payload.remove_prefix(1);
    }
    if (follows == Follows::kProbe || payload.empty()) return;
    const auto kind = static_cast<ExchangeKind>(
        static_cast<uint8_t>(payload[0]) & static_cast<uint8_t>(~0x80));
    filters_ |= kind == ExchangeKind::kFilter || kind == ExchangeKind::kSlice;
  }

  MessageType last_ = MessageType::kPass;
  bool opens_ = false;     // the next payload begins an exchange
  bool sketches_ = false;  // the last exchange is adaptive
  bool filters_ = false;   // and has sent filters
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_SKETCH_ROUNDS_H_

// The messages of one turn on their way out: collected first, so that the last
// one can say that it is the last.

#ifndef ROCKSYNC_REPLICATION_SESSION_TURN_H_
#define ROCKSYNC_REPLICATION_SESSION_TURN_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "replication/session/messages.h"

namespace rocksync {

// Entries are packed into messages of about this size.
inline constexpr size_t kPackedBytes = size_t{128} << 10;

class Turn {
 public:
  explicit Turn(size_t max_bytes) : max_bytes_(max_bytes) {}

  // No more should be added; what was begun may still be completed.
  bool full() const { return bytes_ >= max_bytes_; }
  size_t room() const { return full() ? 0 : max_bytes_ - bytes_; }
  bool empty() const { return messages_.empty(); }

  void Add(MessageType type, std::string_view body, uint8_t flags = 0) {
    std::string message;
    message.reserve(1 + body.size());
    message.push_back(static_cast<char>(static_cast<uint8_t>(type) | flags));
    message.append(body);
    bytes_ += message.size();
    messages_.push_back(std::move(message));
  }

  // Not while empty().
  MessageType last_type() const {
    return static_cast<MessageType>(messages_.back()[0] & kTypeMask);
  }

  // Ends the turn; `flags` go to its last message. Not while empty().
  void Close(uint8_t flags) {
    messages_.back()[0] =
        static_cast<char>(messages_.back()[0] | kLastOfTurn | flags);
  }

  // The next message of a closed turn; false once all are taken.
  bool Pop(std::string* message) {
    if (messages_.empty()) return false;
    *message = std::move(messages_.front());
    messages_.pop_front();
    return true;
  }

 private:
  size_t max_bytes_;
  size_t bytes_ = 0;
  std::deque<std::string> messages_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_TURN_H_

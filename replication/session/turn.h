// The messages of one turn on their way out. One is kept back until it is known
// whether another follows, so that the last one can say that it is the last.

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

// Grammar of use: ( BeginPiece Add* Pop* )+ Close Pop*
class Turn {
 public:
  // A piece, which is what is in memory at once, has about `piece_bytes`.
  explicit Turn(size_t piece_bytes) : piece_bytes_(piece_bytes) {}

  void BeginPiece() {
    ++pieces_;
    bytes_ = 0;
  }
  size_t pieces() const { return pieces_; }

  // No more should be added to this piece; what was begun may still be
  // completed.
  bool full() const { return bytes_ >= piece_bytes_; }
  size_t room() const { return full() ? 0 : piece_bytes_ - bytes_; }
  bool half_full() const { return bytes_ > piece_bytes_ / 2; }
  bool empty() const { return messages_.empty(); }

  void Add(MessageType type, std::string_view body, uint8_t flags = 0) {
    std::string message;
    message.reserve(1 + body.size());
    message.push_back(static_cast<char>(static_cast<uint8_t>(type) | flags));
    message.append(body);
    bytes_ += message.size();
    turn_bytes_ += message.size();
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
    closed_ = true;
  }
  bool closed() const { return closed_; }
  // Of all pieces so far.
  size_t turn_bytes() const { return turn_bytes_; }

  // The next message may be taken.
  bool Ready() const { return messages_.size() > (closed_ ? 0 : 1); }

  // The next message; false if none is Ready.
  bool Pop(std::string* message) {
    if (!Ready()) return false;
    *message = std::move(messages_.front());
    messages_.pop_front();
    return true;
  }

 private:
  size_t piece_bytes_;
  size_t pieces_ = 0;
  size_t bytes_ = 0;  // of this piece
  size_t turn_bytes_ = 0;
  bool closed_ = false;
  std::deque<std::string> messages_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_TURN_H_

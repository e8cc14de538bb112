// The outgoing messages of one turn. One is kept back until it is known whether
// another follows, so that the last one can say that it is the last.

#ifndef ROCKSYNC_REPLICATION_SESSION_TURN_H_
#define ROCKSYNC_REPLICATION_SESSION_TURN_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "replication/session/message_type.h"

namespace rocksync {

// Entries are packed into messages of about this size.
inline constexpr size_t kPackedBytes = size_t{128} << 10;

// The bytes of keys and values in a message.
struct PairBytes {
  uint64_t keys = 0;
  uint64_t values = 0;
};

// Queues the messages of a turn. Grammar of use:
//   ( BeginPiece Add* Pop* )+ Close Pop*
class Turn {
 public:
  // A piece, which is what is in memory at once, has about `piece_bytes`.
  explicit Turn(size_t piece_bytes) : piece_bytes_(piece_bytes) {}

  void BeginPiece() {
    ++pieces_;
    bytes_ = 0;
  }
  size_t pieces() const { return pieces_; }

  // True if no more should be added to this piece; what was begun may still be
  // completed.
  bool full() const { return bytes_ >= piece_bytes_; }
  size_t room() const { return full() ? 0 : piece_bytes_ - bytes_; }
  bool half_full() const { return bytes_ > piece_bytes_ / 2; }
  bool empty() const { return messages_.empty(); }

  // Adds a message; Pop returns `pairs` with it.
  void Add(MessageType type, std::string_view body, uint8_t flags = 0,
           const PairBytes& pairs = {}) {
    std::string message;
    message.reserve(1 + body.size());
    message.push_back(static_cast<char>(static_cast<uint8_t>(type) | flags));
    message.append(body);
    bytes_ += message.size();
    turn_bytes_ += message.size();
    messages_.push_back({std::move(message), pairs});
  }

  // The type of the last message. REQUIRES: !empty().
  MessageType last_type() const {
    return static_cast<MessageType>(messages_.back().bytes[0] & kTypeMask);
  }

  // Ends the turn; `flags` go to its last message. REQUIRES: !empty().
  void Close(uint8_t flags) {
    char* const head = messages_.back().bytes.data();
    *head = static_cast<char>(*head | kLastOfTurn | flags);
    closed_ = true;
  }
  bool closed() const { return closed_; }
  // The bytes of all pieces so far.
  size_t turn_bytes() const { return turn_bytes_; }

  // True if the next message may be taken.
  bool Ready() const { return messages_.size() > (closed_ ? 0 : 1); }

  // Takes the next message; returns false if none is Ready.
  bool Pop(std::string* message, PairBytes* pairs) {
    if (!Ready()) return false;
    *message = std::move(messages_.front().bytes);
    *pairs = messages_.front().pairs;
    messages_.pop_front();
    return true;
  }

 private:
  struct Message {
    std::string bytes;
    PairBytes pairs;
  };

  size_t piece_bytes_;
  size_t pieces_ = 0;
  size_t bytes_ = 0;  // of this piece
  size_t turn_bytes_ = 0;
  bool closed_ = false;
  std::deque<Message> messages_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_TURN_H_

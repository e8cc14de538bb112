#include "replication/stream/stream_dues.h"

#include <algorithm>
#include <utility>

namespace rocksync {
namespace {

// The peer is told what was taken after this long at the latest.
constexpr uint64_t kTellAfterMs = 5;

}  // namespace

void StreamDues::TookFromLog(uint64_t changes, uint64_t oldest_ms) {
  in_hand_ = changes;
  in_hand_since_ms_ = changes > 0 ? oldest_ms : kNever;
}

void StreamDues::Sent(uint64_t bytes, uint64_t changes, uint64_t oldest_ms) {
  if (changes > 0)
    TookFromLog(in_hand_ - std::min(in_hand_, changes), oldest_ms);
  bytes_sent_ += bytes;
  under_way_.push_back({bytes_sent_, changes, oldest_ms});
}

bool StreamDues::Taken(uint64_t bytes) {
  if (bytes > bytes_under_way()) return false;
  bytes_taken_ += bytes;
  while (!under_way_.empty() &&
         under_way_.front().bytes_until <= bytes_taken_) {
    under_way_.pop_front();
  }
  return true;
}

uint64_t StreamDues::changes_under_way() const {
  uint64_t changes = in_hand_;
  for (const UnderWay& message : under_way_) changes += message.changes;
  return changes;
}

uint64_t StreamDues::oldest_under_way_ms() const {
  return under_way_.empty() ? in_hand_since_ms_ : under_way_.front().oldest_ms;
}

bool StreamDues::Took(uint64_t bytes, uint64_t now_ms) {
  const bool first = bytes_to_tell_ == 0;
  if (first) tell_at_ms_ = now_ms + kTellAfterMs;
  bytes_to_tell_ += bytes;
  return first;
}

uint64_t StreamDues::TakeDueAck(uint64_t now_ms, uint64_t most) {
  if (bytes_to_tell_ == 0) return 0;
  if (bytes_to_tell_ < most && now_ms < tell_at_ms_) return 0;
  return std::exchange(bytes_to_tell_, 0);
}

}  // namespace rocksync

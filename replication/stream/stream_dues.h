// The state that the two halves of a stream share: what is under way to the
// peer, and what is due to be said to it.

#ifndef ROCKSYNC_REPLICATION_STREAM_STREAM_DUES_H_
#define ROCKSYNC_REPLICATION_STREAM_STREAM_DUES_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "replication/stream/spread.h"

namespace rocksync {

// The shared state of one stream. Not thread-safe.
class StreamDues {
 public:
  // Records that so many changes, the oldest made at `oldest_ms`, were taken
  // from the buffer and are in hand until the next call; 0: all are dealt with.
  void TookFromLog(uint64_t changes, uint64_t oldest_ms);
  // Records that a message of kChanges of so many bytes is sent, which deals
  // with so many changes of the buffer, the oldest made at `oldest_ms`.
  void Sent(uint64_t bytes, uint64_t changes, uint64_t oldest_ms);
  // Records that the peer has taken so many bytes. Returns false if that is
  // more than is under way.
  bool Taken(uint64_t bytes);
  uint64_t bytes_under_way() const { return bytes_sent_ - bytes_taken_; }
  // The number of changes of the buffer that are under way or in hand, and when
  // the oldest was made.
  uint64_t changes_under_way() const;
  uint64_t oldest_under_way_ms() const;  // UINT64_MAX: none is

  // Records that so many bytes were taken here. Returns true if this sets the
  // time at which the peer is told.
  bool Took(uint64_t bytes, uint64_t now_ms);
  uint64_t bytes_to_tell() const { return bytes_to_tell_; }
  // Returns when bytes_to_tell() is to be told at the latest; UINT64_MAX: there
  // is nothing to tell.
  uint64_t TellAtMs() const {
    return bytes_to_tell_ > 0 ? tell_at_ms_ : kNever;
  }
  // Returns the bytes to be told now, by time or since they are `most` or more;
  // 0: none are due. They count as told.
  uint64_t TakeDueAck(uint64_t now_ms, uint64_t most);

  // Lists for the sending half, which takes all at once.
  struct Lists {
    bool wants_repair = false;          // a session, which the peer is to begin
    std::set<uint64_t> to_prune;        // origins that come by another way
    std::vector<ShortHash> to_ask_for;  // of the peer, which announced them
    std::vector<ShortHash> asked_for;   // by the peer
  };
  Lists lists;

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  struct UnderWay {
    uint64_t bytes_until = 0;  // of all messages up to this one
    uint64_t changes = 0;
    uint64_t oldest_ms = 0;
  };

  std::deque<UnderWay> under_way_;
  uint64_t in_hand_ = 0;  // taken from the buffer, and not sent yet
  uint64_t in_hand_since_ms_ = kNever;
  uint64_t bytes_sent_ = 0;   // of messages of kChanges
  uint64_t bytes_taken_ = 0;  // of these, by the peer
  // Bytes that were taken here and that the peer was not told of.
  uint64_t bytes_to_tell_ = 0;
  uint64_t tell_at_ms_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_STREAM_DUES_H_

// Frames on a byte stream: the length of the body as a varint (LEB128, low
// seven bits first), then the body. A body below 128 bytes costs one byte.
//
//   frame := length body          length in [0, kMaxFrameBytes], or less by the
//                                 limit set; at most 4 bytes, no longer than
//                                 needed
//
// A frame of length 0 is the transport's own (see greeting.h), never one of the
// replicas. Sans-IO: knows neither socket nor thread.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_FRAME_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_FRAME_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "rocksync/transport.h"

namespace rocksync {

// Appends the header of a frame whose body has `size` bytes.
void AppendFrameHeader(size_t size, std::string* out);

// Cuts a stream into frames, whatever the pieces it arrives in. Memory is
// proportional to what has arrived, not to what a header claims.
class FrameDecoder {
 public:
  enum class Result {
    kNeedMore,  // all input consumed, no whole frame yet
    kFrame,     // TakeBody() returns it; input after it is left in place
    kCorrupt,   // `error()` says why; the stream is of no more use
  };

  // Consumes from the front of `*input` up to the end of the next frame.
  Result Consume(std::string_view* input);

  // Sets the largest body of a frame, at first kMaxUnauthenticatedFrameBytes. A
  // larger frame that has begun fails, too.
  void SetLimit(size_t bytes) { limit_ = bytes; }

  // Gives the decoder the memory of a frame that is no longer needed, for the
  // next one. It is dropped in the middle of a frame. When large frames follow
  // one another, this saves asking the system for zeroed pages each time.
  void Reuse(std::string buffer);

  // Moves out the frame found last. To be called once per kFrame.
  std::string TakeBody();

  // Returns true if a frame has begun but not ended.
  bool in_frame() const { return header_bytes_ > 0 || has_length_; }

  const std::string& error() const { return error_; }

 private:
  Result Fail(std::string message);
  bool ConsumeHeader(std::string_view* input);

  size_t limit_ = kMaxUnauthenticatedFrameBytes;
  int header_bytes_ = 0;
  bool has_length_ = false;
  size_t length_ = 0;
  std::string body_;
  std::string error_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_FRAME_H_

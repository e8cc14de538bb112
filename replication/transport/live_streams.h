// The open streams of a transport: counts the accepted ones, closes those that
// are idle, and closes all at the end.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_LIVE_STREAMS_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_LIVE_STREAMS_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "replication/transport/frame_stream.h"

namespace rocksync {

// A list of streams. Thread rule: the transport's thread only.
class LiveStreams {
 public:
  void Add(const std::shared_ptr<FrameStream>& stream, bool accepted);
  size_t CountAccepted();
  void CloseIdle(std::chrono::milliseconds idle_timeout);
  void CloseAll(const rocksdb::Status& why);

 private:
  struct Entry {
    std::weak_ptr<FrameStream> stream;
    bool accepted;
  };
  void ForgetClosed();

  std::vector<Entry> entries_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_LIVE_STREAMS_H_

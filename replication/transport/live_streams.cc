#include "replication/transport/live_streams.h"

#include <algorithm>
#include <string>

namespace rocksync {

void LiveStreams::Add(const std::shared_ptr<FrameStream>& stream,
                      bool accepted) {
  ForgetClosed();
  entries_.push_back({stream, accepted});
}

void LiveStreams::ForgetClosed() {
  std::erase_if(entries_, [](const Entry& entry) {
    const std::shared_ptr<FrameStream> stream = entry.stream.lock();
    return stream == nullptr || stream->closed();
  });
}

size_t LiveStreams::CountAccepted() {
  ForgetClosed();
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [](const Entry& entry) { return entry.accepted; }));
}

void LiveStreams::CloseIdle(std::chrono::milliseconds idle_timeout) {
  const auto now = FrameStream::Clock::now();
  for (const Entry& entry : entries_) {
    const std::shared_ptr<FrameStream> stream = entry.stream.lock();
    if (stream == nullptr || now - stream->last_traffic() < idle_timeout) {
      continue;
    }
    stream->Close(rocksdb::Status::IOError(
        "connection with " + stream->peer_name() + " was closed",
        "idle for " + std::to_string(idle_timeout.count()) + " ms"));
  }
  ForgetClosed();
}

void LiveStreams::CloseAll(const rocksdb::Status& why) {
  for (const Entry& entry : entries_) {
    if (const auto stream = entry.stream.lock()) stream->Close(why);
  }
  entries_.clear();
}

}  // namespace rocksync

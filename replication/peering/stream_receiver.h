// The half of a stream that receives: applies what comes, and passes on to the
// sending half what the peer says of what it was sent.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_RECEIVER_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_RECEIVER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "replication/peering/stream_context.h"
#include "replication/peering/stream_sender.h"
#include "replication/session/storage_view.h"
#include "replication/stream/stream_messages.h"
#include "rocksdb/status.h"

namespace rocksync {

// For one thread.
class StreamReceiver {
 public:
  // Both must outlive it.
  StreamReceiver(const StreamContext* context, StreamSender* sender)
      : context_(context), sender_(sender) {}
  StreamReceiver(const StreamReceiver&) = delete;
  StreamReceiver& operator=(const StreamReceiver&) = delete;

  // Once the stream is open, until receiving or applying fails. TryAgain: the
  // two should meet again.
  rocksdb::Status Run();

  // Changes were taken, here or by the peer.
  bool carried() const { return carried_; }

 private:
  rocksdb::Status Take(std::string_view message);
  rocksdb::Status TakeChanges(std::string_view message);
  rocksdb::Status TakeTaken(std::string_view body);
  rocksdb::Status TakeGap(std::string_view body);
  rocksdb::Status TakeNeighbours(std::string_view body);
  rocksdb::Status TakeList(StreamMessageType type, std::string_view body);
  rocksdb::Status Apply();
  void NoteArrived();

  const StreamContext* const context_;
  StreamSender* const sender_;
  bool carried_ = false;
  uint64_t wire_received_ = 0;  // by the connection, as counted so far
  std::vector<Pair> pairs_;
  std::vector<ApplyOutcome> outcomes_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_RECEIVER_H_

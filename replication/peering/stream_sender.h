// The thread of a stream that sends: carries out what stream/outgoing_changes.h
// decides, when there is something to be said.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_SENDER_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_SENDER_H_

#include "replication/peering/replica_stream.h"
#include "replication/stream/outgoing_changes.h"
#include "rocksdb/status.h"

namespace rocksync {

// For one thread.
class StreamSender {
 public:
  // `stream` must outlive it.
  explicit StreamSender(ReplicaStream* stream)
      : stream_(stream), outgoing_(stream) {}
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  // Once the stream is open, until it ends (OK) or sending fails.
  rocksdb::Status Run();

 private:
  ReplicaStream* const stream_;
  OutgoingChanges outgoing_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_SENDER_H_

// The thread of a stream that receives, and hands on to
// stream/incoming_changes.h what comes.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_RECEIVER_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_RECEIVER_H_

#include <cstdint>

#include "replication/peering/replica_stream.h"
#include "replication/stream/incoming_changes.h"
#include "rocksdb/status.h"

namespace rocksync {

// For one thread.
class StreamReceiver {
 public:
  // `stream` must outlive it.
  explicit StreamReceiver(ReplicaStream* stream)
      : stream_(stream), incoming_(stream) {}
  StreamReceiver(const StreamReceiver&) = delete;
  StreamReceiver& operator=(const StreamReceiver&) = delete;

  // Once the stream is open, until receiving or applying fails. TryAgain: the
  // two should meet again.
  rocksdb::Status Run();

  // Changes were taken, here or by the peer.
  bool carried() const { return incoming_.carried(); }

 private:
  ReplicaStream* const stream_;
  IncomingChanges incoming_;
  uint64_t wire_received_ = 0;  // by the connection, as counted so far
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_RECEIVER_H_

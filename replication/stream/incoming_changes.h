// The receiving half of a stream, as a protocol: it applies what comes, and
// leaves to the sending half what the peer is to be told of it.

#ifndef ROCKSYNC_REPLICATION_STREAM_INCOMING_CHANGES_H_
#define ROCKSYNC_REPLICATION_STREAM_INCOMING_CHANGES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"
#include "replication/stream/stream_host.h"
#include "replication/stream/stream_messages.h"

namespace rocksync {

// The receiving half of one stream. For one thread.
class IncomingChanges {
 public:
  // `host` must outlive it.
  explicit IncomingChanges(StreamHost* host) : host_(host) {}
  IncomingChanges(const IncomingChanges&) = delete;
  IncomingChanges& operator=(const IncomingChanges&) = delete;

  // Takes the next message of an open stream. An error ends the stream.
  // InvalidArgument: the peer says what it must not, or nothing; Unavailable:
  // what the two agreed upon holds no longer, they should meet again; other
  // errors are those of Apply.
  absl::Status Receive(std::string_view message);

  // Returns true once changes were taken, here or by the peer.
  bool carried() const { return carried_; }

 private:
  absl::Status ReceiveChanges(std::string_view message);
  absl::Status ReceiveAck(std::string_view body);
  absl::Status ReceiveGap(std::string_view body);
  absl::Status ReceiveNeighbours(std::string_view body);
  absl::Status ReceiveList(StreamMessageType type, std::string_view body);
  absl::Status ReceiveGraft(const std::vector<ShortHash>& hashes);
  absl::Status Apply();
  void NoteArrived();
  absl::Status Refusal(std::string_view what) const;

  StreamHost* const host_;
  bool carried_ = false;
  std::vector<Pair> pairs_;
  std::vector<ApplyOutcome> outcomes_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_INCOMING_CHANGES_H_

// Runs a stream with one peer. Over a connection that was set up as for
// sessions, each side sends what is written to it, as it is written, and
// applies what comes.
//
// A stream has two threads: the one that calls Run receives and applies, and a
// second one sends. Changes are durable here before they are sent. A stream
// ends as soon as what the two agreed upon in the set-up no longer holds; they
// then connect anew.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_RUNNER_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_RUNNER_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "replication/peering/link.h"
#include "replication/peering/replica_stream_host.h"
#include "replication/peering/replicator_context.h"
#include "replication/peering/streams.h"
#include "replication/stream/incoming_changes.h"
#include "replication/stream/outgoing_changes.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_messages.h"
#include "rocksdb/status.h"

namespace rocksync {

class StreamRunner final : public OpenStream {
 public:
  // Runs over `link`, whose connection no session uses any more. `repair`
  // requests an exact session with this peer soon, to find what the stream does
  // not bring. It is empty at the side that was dialed: the dialer repairs.
  StreamRunner(ReplicatorContext* replica, Link* link,
               std::function<void()> repair);
  ~StreamRunner() override;
  StreamRunner(const StreamRunner&) = delete;
  StreamRunner& operator=(const StreamRunner&) = delete;

  // Opens a stream, or, if `first` is not empty, answers it as the peer's
  // StreamOpen; then runs the stream to its end. Busy: another stream with this
  // peer is to be kept, or one of the two wants none now. TryAgain: connect
  // anew. Other errors: the connection failed, or the database here.
  rocksdb::Status Run(const std::string& first);

  // Returns true if changes were taken, here or by the peer.
  // REQUIRES: Run has returned.
  bool carried() const { return incoming_.carried(); }

  // OpenStream. Close makes Run return.
  void Close() override;
  void Wake() override { stream_.Wake(); }
  void AskFor(const std::vector<ShortHash>& hashes) override;

  // The bytes that a peer may have under way: more than a round trip's worth,
  // and little memory.
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 20;

 private:
  rocksdb::Status Open(const std::string& first);
  // Agree with the peer on a stream that this replica dialed, or on one that
  // the peer asks for.
  rocksdb::Status Ask(const std::string& mine, StreamOpen* theirs);
  rocksdb::Status Answer(const std::string& first, const std::string& mine,
                         StreamOpen* theirs);
  // Registers the stream in Streams. Returns false if another stream with this
  // peer is to be kept, or none may begin.
  bool Enter(bool dialed, const std::string& zone);
  rocksdb::Status Carry();
  // Run the two halves, each on its thread, once the stream is open.
  // SendChanges returns OK if the stream has ended, ReceiveChanges the error
  // with which receiving or applying failed.
  rocksdb::Status SendChanges();
  rocksdb::Status ReceiveChanges();
  bool ended() const;
  void End(const rocksdb::Status& why);

  ReplicatorContext* const replica_;
  Link* const link_;
  ReplicaStreamHost stream_;
  OutgoingChanges outgoing_;  // used by the thread that sends
  IncomingChanges incoming_;  // used by the thread that receives

  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;
  rocksdb::Status end_;  // not OK: the stream has ended
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_RUNNER_H_

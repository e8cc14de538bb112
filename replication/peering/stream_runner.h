// A stream with one peer: over a connection that was set up as for sessions,
// each side sends what is written there, as it is written, and takes what
// comes.
//
// Two threads: the one that calls Run receives and applies, and a second one
// sends. What is sent is durable here first. A stream ends as soon as what the
// two agreed upon in the set-up holds no longer; they meet again then.

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
  // Over `link`, whose connection no session uses any more. `repair` has an
  // exact session run with this peer soon: what the stream does not bring must
  // be found. Empty at the side that was dialed; the other one does it.
  StreamRunner(ReplicatorContext* replica, Link* link,
               std::function<void()> repair);
  ~StreamRunner() override;
  StreamRunner(const StreamRunner&) = delete;
  StreamRunner& operator=(const StreamRunner&) = delete;

  // Opens the stream, or answers `first`, the peer's StreamOpen, and carries it
  // to its end. Busy: there is another one with this peer that is to be kept,
  // or one of the two wants none now. TryAgain: the two should meet again.
  // Others: the connection failed, or the database here.
  rocksdb::Status Run(const std::string& first);

  // Once Run has returned: changes were taken, here or by the peer.
  bool carried() const { return incoming_.carried(); }

  // OpenStream. Close makes Run return.
  void Close() override;
  void Wake() override { stream_.Wake(); }
  void AskFor(const std::vector<ShortHash>& hashes) override;

  // What a peer may have under way: more than a round trip's worth, and little
  // memory.
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 20;

 private:
  rocksdb::Status Open(const std::string& first);
  // Of a stream that this replica dialed, or of one that it was asked for.
  rocksdb::Status Ask(const std::string& mine, StreamOpen* theirs);
  rocksdb::Status Answer(const std::string& first, const std::string& mine,
                         StreamOpen* theirs);
  // The stream is one of the replica's; false: another one is to be kept.
  bool Enter(bool dialed, const std::string& zone);
  rocksdb::Status Carry();
  // Each on its thread, once the stream is open. SendChanges: OK once the
  // stream has ended. ReceiveChanges: until receiving or applying fails.
  rocksdb::Status SendChanges();
  rocksdb::Status ReceiveChanges();
  bool ended() const;
  void End(const rocksdb::Status& why);

  ReplicatorContext* const replica_;
  Link* const link_;
  ReplicaStreamHost stream_;
  OutgoingChanges outgoing_;  // of the thread that sends
  IncomingChanges incoming_;  // of the thread that receives

  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;
  rocksdb::Status end_;  // not OK: it has ended
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_RUNNER_H_

// A connection over which two replicas have said who they are: sessions run
// over it one after the other, counted, until it breaks.

#ifndef ROCKSYNC_REPLICATION_PEERING_LINK_H_
#define ROCKSYNC_REPLICATION_PEERING_LINK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "replication/membership/announcement.h"
#include "replication/peering/open_connections.h"
#include "replication/peering/peer_wait.h"
#include "replication/peering/replicator_context.h"
#include "replication/peering/session_runner.h"
#include "replication/peering/session_slots.h"
#include "replication/peering/verified_peer.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/session.h"
#include "replication/store/store_access.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// What the replicator's options and limits mean for a session.
SessionOptions ToSessionOptions(const ReplicatorContext& replica);
SessionDriveOptions DriveOptionsOf(ReplicatorContext* replica);

// What came of a session.
struct SessionResult {
  // OK: proven equal, or, if `busy` or `expired`, another session is to be
  // tried; as responder also: the initiator knows how it went.
  rocksdb::Status status;
  bool busy = false;     // one side was in another session, or paused
  bool no_slot = false;  // busy, and the peer was not asked: it was this side
  std::string why;       // what the peer says why it is busy; may be empty
  bool expired = false;  // snapshots grew too old; go on with a new session
  bool index_build = false;  // one side builds its index, and cannot compare
  bool heard = false;        // the peer said something in it
  bool link_usable = false;
};

// Used by one thread at a time. `replica` must outlive it.
class Link {
 public:
  // Authenticates over a new connection and runs the set-up, as initiator.
  // InvalidArgument: one of the two refuses the other, the message says why and
  // what to do.
  static rocksdb::Status Open(ReplicatorContext* replica,
                              std::unique_ptr<Connection> connection,
                              std::unique_ptr<Link>* link);

  // As responder, to a peer that has been admitted. `first`: what it then said.
  static rocksdb::Status Accept(ReplicatorContext* replica,
                                ListedConnection connection, std::string first,
                                std::unique_ptr<Link>* link);

  // Runs one session. Responder: `first` is the message that opened it, and
  // without a `slot` it is told to come back later. Initiator: holds a slot.
  SessionResult RunSession(std::string first, bool slot);

  // Runs one session that only compares, as initiator; holds a slot. It is not
  // counted in the statistics. OK: `*report` says how far it came. TryAgain:
  // `peer`, as an earlier look met it, is not the one of this link any more.
  SessionResult Compare(const VerifyTask& task, VerifiedPeer* peer,
                        SessionReport* report);

  // Waits for the peer to open a session (responder), and answers what it
  // announces meanwhile. An error: the link is of no use any more.
  rocksdb::Status AwaitSession(std::string* first);
  // The same, but returns, with `first` empty, after each announcement. With a
  // patience of 0 TimedOut: nothing has come, or the link has ended so.
  rocksdb::Status Await(std::string* first, std::chrono::milliseconds patience);

  // Member list, stable time or families have changed since the two agreed, or
  // another incarnation of this peer was met: a new set-up is due.
  bool stale() const { return view_->stale() || !PeerIncarnationIsCurrent(); }

  uint64_t peer_id() const { return peer_id_; }
  // Expires when this is destroyed, as others can see.
  std::weak_ptr<const void> open() const { return open_; }
  bool peer_takes_streams() const { return peer_takes_streams_; }
  // For a stream in place of sessions. Valid as long as this.
  Connection* connection() const { return connection_.get(); }
  ReplicaView* view() const { return view_.get(); }
  // Of the session that runs; from any thread.
  SessionSlot::Progress progress() const {
    return {connection_->bytes_sent() + connection_->bytes_received(),
            only_sends_, peer_wait_.now()};
  }
  std::string peer_name() const { return connection_->peer_name(); }

 private:
  Link(ReplicatorContext* replica, Role role, ListedConnection connection);
  static rocksdb::Status Open(ReplicatorContext* replica, Role role,
                              ListedConnection connection, std::string first,
                              std::unique_ptr<Link>* link);
  rocksdb::Status SetUp(std::string first);
  // Runs a session to its end and says what came of it. `context`: what is
  // particular to this one.
  SessionResult RunToEnd(std::string first, SessionContext context,
                         SessionReport* report);

  // Tells the peer what has changed since the set-up that tombstones may wait
  // for, and hears its news.
  rocksdb::Status Announce();
  void NoteProof();
  rocksdb::Status TakeAnnouncement(const Announcement& mine,
                                   const std::string& message);
  bool WorthAnnouncing() const;
  // The incarnation in which the peer was met is still its latest known one.
  bool PeerIncarnationIsCurrent() const;

  ReplicatorContext* const replica_;
  const Role role_;
  const uint64_t number_;  // among all of this process
  ListedConnection connection_;
  const std::shared_ptr<const void> open_ = std::make_shared<int>();
  std::unique_ptr<ReplicaView> view_;
  // What both said last.
  Announcement mine_;
  Announcement theirs_;
  std::chrono::steady_clock::time_point announced_{};
  uint64_t peer_id_ = 0;
  IncarnationId peer_incarnation_;
  bool peer_takes_streams_ = false;
  SessionSeed seed_{};
  std::atomic<bool> only_sends_{false};
  PeerWait peer_wait_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_LINK_H_

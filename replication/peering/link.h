// A link: a connection over which two replicas have completed the set-up.
// Sessions run over it one after the other, and are counted, until it breaks.

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

// Translate the replicator's options and limits into those of a session.
SessionOptions ToSessionOptions(const ReplicatorContext& replica);
SessionDriveOptions DriveOptionsOf(ReplicatorContext* replica);

// The result of a session.
struct SessionResult {
  // OK: proven equal, or, if `busy` or `expired`, another session is to be
  // tried. A responder also returns OK for a session without a proof, whose
  // outcome is the initiator's to judge.
  rocksdb::Status status;
  bool proven = false;   // the two were proven equal
  bool busy = false;     // one side was in another session, or paused
  bool no_slot = false;  // busy, as no slot was free here; peer was not asked
  std::string why;       // the peer's reason for being busy; may be empty
  bool expired = false;  // snapshots grew too old; go on with a new session
  bool index_build = false;  // one side builds its index, and cannot compare
  bool heard = false;        // the peer sent something in this session
  bool link_usable = false;
};

// Runs sessions over a connection that was set up. Used by one thread at a
// time. `replica` must outlive it.
class Link {
 public:
  // Authenticates over a new connection and runs the set-up, as initiator.
  // Returns InvalidArgument if one of the two refuses the other; the message
  // says why and what to do.
  static rocksdb::Status Open(ReplicatorContext* replica,
                              std::unique_ptr<Connection> connection,
                              std::unique_ptr<Link>* link);

  // Runs the set-up as responder with a peer that has been authenticated.
  // `first` is the message that the peer sent after the authentication.
  static rocksdb::Status Accept(ReplicatorContext* replica,
                                ListedConnection connection, std::string first,
                                std::unique_ptr<Link>* link);

  // Runs one session. Responder: `first` is the message that opened it; without
  // a `slot` the peer is told to come back later. Initiator: `first` is empty.
  // REQUIRES: the initiator holds a slot.
  SessionResult RunSession(std::string first, bool slot);

  // Runs one session that only compares, as initiator. It is not counted in the
  // statistics. OK: `*report` says how far it came. TryAgain: this link's peer
  // is not `peer`, as an earlier look met it, any more.
  // REQUIRES: the caller holds a slot.
  SessionResult Compare(const VerifyTask& task, VerifiedPeer* peer,
                        SessionReport* report);

  // Waits, as responder, for the peer to open a session, and answers its
  // announcements meanwhile. After an error the link is of no more use.
  rocksdb::Status AwaitSession(std::string* first);
  // Waits like AwaitSession, but for `patience` at most, and returns after each
  // announcement, with `first` empty. With a patience of 0, TimedOut means that
  // nothing has come, or that the link ended with a timeout.
  rocksdb::Status Await(std::string* first, std::chrono::milliseconds patience);

  // Returns true if a new set-up is due: the member list, stable time or
  // families have changed since the two agreed, or another incarnation of this
  // peer was met.
  bool stale() const { return view_->stale() || !PeerIncarnationIsCurrent(); }

  uint64_t peer_id() const { return peer_id_; }
  // Returns a pointer that expires when this link is destroyed, by which other
  // threads see whether it is open.
  std::weak_ptr<const void> open() const { return open_; }
  bool peer_takes_streams() const { return peer_takes_streams_; }
  // The connection and the view, for a stream that runs in place of sessions.
  // Valid as long as the link.
  Connection* connection() const { return connection_.get(); }
  ReplicaView* view() const { return view_.get(); }
  // Returns the progress of the session that runs. From any thread.
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
  // Runs a session to its end and returns its result. `context` holds what is
  // particular to this session.
  SessionResult RunToEnd(std::string first, SessionContext context,
                         SessionReport* report);

  // Exchanges announcements with the peer: what tombstone garbage collection
  // may be waiting for and has changed since the set-up.
  rocksdb::Status Announce();
  void NoteProof();
  rocksdb::Status TakeAnnouncement(const Announcement& mine,
                                   const std::string& message);
  bool WorthAnnouncing() const;
  // Returns true if the peer's incarnation on this link is still the latest one
  // known.
  bool PeerIncarnationIsCurrent() const;

  ReplicatorContext* const replica_;
  const Role role_;
  const uint64_t number_;  // unique among all links of this process
  ListedConnection connection_;
  const std::shared_ptr<const void> open_ = std::make_shared<int>();
  std::unique_ptr<ReplicaView> view_;
  // The last announcement of each side.
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

#include "replication/peering/perform_setup.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "replication/base/random_bits.h"
#include "replication/base/status.h"
#include "replication/membership/setup.h"
#include "replication/session/messages.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/peer_memory.h"
#include "replication/stream/stream_messages.h"

namespace rocksync {
namespace {

// Time limit for each message, or io_timeout if that is less. With a few
// members a set-up is some hundred bytes.
constexpr std::chrono::milliseconds kSetupTimeout{10'000};

rocksdb::Status FactsOf(const ReplicatorContext& replica,
                        const Announcement& announced, SetupFacts* facts) {
  facts->cluster = replica.db->replication_options().cluster_name;
  facts->replica_id = replica.identity.replica_id;
  Incarnation incarnation = StoreAccess::IncarnationOf(replica.db);
  facts->incarnation = incarnation.incarnation;
  facts->first_clock = incarnation.first_clock;
  facts->past = std::move(incarnation.past);
  facts->clock = announced.reading;
  facts->gc = announced.gc;
  facts->capabilities = replica.takes_streams() ? kCapabilityStreams : 0;
  for (const auto& family : StoreAccess::Families(replica.db)) {
    facts->families.push_back({family.name, family.comparator});
  }
  if (!RandomBytes(facts->nonce.data(), facts->nonce.size())) {
    return rocksdb::Status::IOError("OpenSSL's RAND_bytes failed",
                                    "check OpenSSL's configuration (FIPS, "
                                    "engines) on this machine");
  }
  return rocksdb::Status::OK();
}

EndReason ReasonOf(const rocksdb::Status& why) {
  if (why.IsTryAgain() || why.IsBusy()) return EndReason::kUnavailable;
  return why.IsInvalidArgument() ? EndReason::kRefused : EndReason::kFailed;
}

// Tells a peer that waits for the outcome of the set-up why it failed.
void SayWhyNot(EndReason reason, const rocksdb::Status& why,
               Connection* connection, std::chrono::milliseconds timeout) {
  std::string message(
      1,
      static_cast<char>(static_cast<uint8_t>(MessageType::kEnd) | kLastOfTurn));
  EncodeEnd({reason, ToldToPeer(why)}, &message);
  (void)connection->Send(message, timeout);
}

// Carries one set-up to its end.
class SetupTalk {
 public:
  SetupTalk(ReplicatorContext* replica, Role role, Connection* connection,
            Setup* setup)
      : replica_(replica),
        role_(role),
        connection_(connection),
        setup_(setup),
        timeout_(std::min(kSetupTimeout, replica->options.io_timeout)) {}

  rocksdb::Status Run(std::string first) {
    if (!first.empty()) (void)setup_->Receive(first);  // status is read below
    while (!setup_->done()) {
      rocksdb::Status s = Speak();
      if (!s.ok()) return s;
      if (setup_->done()) break;
      std::string message;
      s = connection_->Receive(&message, timeout_);
      if (!s.ok()) return s;
      (void)setup_->Receive(message);  // its status is read below
    }
    NoteWhatItMeans();
    rocksdb::Status s = ToRocksDb(setup_->status());
    if (!s.ok()) return s;
    s = Remember();
    if (s.ok()) return s;
    if (setup_->verdict() == PeerVerdict::kPeerNewer) {
      SayWhyNot(ReasonOf(s), s, connection_, timeout_);
    } else if (role_ == Role::kResponder) {
      RefuseFirstSession(s);
    }
    return NameOwnStorage(s);
  }

 private:
  rocksdb::Status Speak() {
    std::string message;
    while (setup_->NextMessage(&message)) {
      if (message.size() > kMaxSetupFrameBytes) {
        return rocksdb::Status::InvalidArgument(
            "a set-up of " + std::to_string(message.size()) +
                " bytes is more than peers take",
            "replicate fewer families, or such with shorter names");
      }
      const rocksdb::Status s = connection_->Send(message, timeout_);
      if (!s.ok()) return s;
    }
    return rocksdb::Status::OK();
  }

  // Stores the peer's incarnation. Returns an error if this replica's storage
  // failed.
  rocksdb::Status Remember() {
    const SetupFacts& peer = setup_->peer();
    const rocksdb::Status s =
        StoreAccess::PeersOf(replica_->db)
            ->Remember(peer.replica_id, {peer.incarnation, peer.first_clock,
                                         peer.clock, peer.past});
    // Aborted would read as if the replicator had been stopped.
    return s.IsAborted() ? rocksdb::Status::InvalidArgument(s.getState()) : s;
  }

  // Refuses the peer's first session, because the peer's incarnation could not
  // be stored (on a full disk, for example). The listener has no message left
  // in the set-up; its next one is the answer to the first session.
  void RefuseFirstSession(const rocksdb::Status& why) {
    std::string message;
    if (!connection_->Receive(&message, timeout_).ok()) return;
    SayWhyNot(
        IsStorageFailure(why) ? EndReason::kFailed : EndReason::kUnavailable,
        why, connection_, timeout_);
  }

  // Records on disk that this replica was found to be a copy or an older state,
  // so that open_copy_as_new_replica may apply; or takes such a record back.
  void NoteWhatItMeans() {
    rocksdb::Status s;
    if (setup_->refused() == RefusalReason::kRolledBack) {
      s = StoreAccess::PeersOf(replica_->db)->NoteSuperseded();
    } else if (setup_->met_itself()) {
      s = StoreAccess::PeersOf(replica_->db)->NoteMetItself();
    } else if (setup_->acknowledged_more()) {
      s = StoreAccess::PeersOf(replica_->db)
              ->NoteAcknowledgedMore(setup_->peer().replica_id);
    } else if (setup_->status().ok()) {
      s = StoreAccess::PeersOf(replica_->db)
              ->NoteTakenBack(setup_->peer().replica_id);
    }
    if (s.ok()) return;
    rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, replica_->log,
                 "rocksync: could not persist that a peer refuses this replica "
                 "as a copy or an older state, so it may ask again after a "
                 "restart: %s",
                 s.ToString().c_str());
  }

  ReplicatorContext* const replica_;
  const Role role_;
  Connection* const connection_;
  Setup* const setup_;
  const std::chrono::milliseconds timeout_;
};

// Returns the error for a peer that was to install the newer list, but sent
// `message` instead of closing the connection.
rocksdb::Status NotTakenOver(std::string_view message) {
  constexpr std::string_view kWhat =
      "the peer does not take over the newer member list: ";
  End end;
  if (message.empty() ||
      static_cast<MessageType>(static_cast<uint8_t>(message[0]) & kTypeMask) !=
          MessageType::kEnd ||
      !DecodeEnd(message.substr(1), &end).ok()) {
    return rocksdb::Status::InvalidArgument(
        "the peer neither takes over the newer member list nor says why");
  }
  const std::string text = std::string(kWhat) + end.text;
  switch (end.reason) {
    case EndReason::kUnavailable:
      return ToRocksDb(absl::UnavailableError(text));
    case EndReason::kRefused:
      return ToRocksDb(absl::InvalidArgumentError(text));
    default:
      return ToRocksDb(absl::InternalError(text));
  }
}

// Passes on the newer member list. The side with the older list installs it.
// The other side waits until that side closes the connection, having installed
// the list, or says why not.
rocksdb::Status HandOnList(ReplicatorContext* replica, const SetupResult& met,
                           PeerVerdict verdict, Connection* connection,
                           std::chrono::milliseconds timeout) {
  if (verdict == PeerVerdict::kPeerNewer) {
    const rocksdb::Status s =
        StoreAccess::MembershipOf(replica->db)->Learn(met.theirs);
    if (!s.ok()) {
      SayWhyNot(ReasonOf(s), s, connection, timeout);
      return s;
    }
  } else {
    std::string message;
    if (connection->Receive(&message, timeout).ok()) {
      return NotTakenOver(message);
    }
  }
  return rocksdb::Status::TryAgain("a newer member list was installed",
                                   "call SyncNow again");
}

}  // namespace

rocksdb::Status AgreeWith(ReplicatorContext* replica, uint64_t peer_id,
                          const IncarnationId& peer_incarnation,
                          const Announcement& mine, const Announcement& theirs,
                          ReplicaView* view) {
  Terms agreed;
  const rocksdb::Status s =
      StoreAccess::MembershipOf(replica->db)
          ->Agree(mine.gc, peer_id, peer_incarnation, theirs, &agreed);
  if (s.ok()) {
    view->AgreeOn(agreed, peer_id, peer_incarnation);
  }
  return s;
}

rocksdb::Status PerformSetup(ReplicatorContext* replica, Role role,
                             Connection* connection, std::string first,
                             SetupResult* met) {
  met->view = StoreAccess::NewView(replica->db, replica->pay_for_reads);
  met->mine = StoreAccess::MembershipOf(replica->db)->Announce();
  SetupFacts facts;
  rocksdb::Status s = FactsOf(*replica, met->mine, &facts);
  if (!s.ok()) return s;
  SetupPolicy policy;
  policy.authenticated_id = connection->peer_replica_id();
  policy.remembered = [replica](uint64_t id) {
    return StoreAccess::PeersOf(replica->db)->Recall(id);
  };
  policy.said = [replica](uint64_t id, const IncarnationId& incarnation) {
    return StoreAccess::MembershipOf(replica->db)->SaidWith(id, incarnation);
  };
  Setup setup(role, facts, replica->db->replication_options().cluster_secret,
              policy);
  s = SetupTalk(replica, role, connection, &setup).Run(std::move(first));
  met->peer_id = setup.peer().replica_id;
  met->peer_incarnation = setup.peer().incarnation;
  met->peer_capabilities = setup.peer().capabilities;
  met->peer_is_copy = setup.met_copy();
  met->seed = setup.seed();
  met->theirs = {setup.peer().clock, setup.peer().gc};
  if (!s.ok()) return s;
  if (setup.verdict() != PeerVerdict::kSameList) {
    return HandOnList(replica, *met, setup.verdict(), connection,
                      std::min(kSetupTimeout, replica->options.io_timeout));
  }
  return AgreeWith(replica, met->peer_id, met->peer_incarnation, met->mine,
                   met->theirs, met->view.get());
}

}  // namespace rocksync

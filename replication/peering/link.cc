#include "replication/peering/link.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "replication/membership/setup.h"
#include "replication/peering/admission.h"
#include "replication/peering/perform_setup.h"
#include "replication/peering/timeout_remedy.h"
#include "replication/peering/verification.h"
#include "replication/session/messages.h"
#include "replication/session/session.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/peer_memory.h"
#include "replication/stream/stream_messages.h"

namespace rocksync {
namespace {

// How long to wait for the next session: in effect without a limit, since
// silence between sessions is no fault. The transport closes idle connections
// sooner than this.
constexpr std::chrono::hours kBetweenSessions{24};

// How long a side with no news of its own waits before it asks for the peer's.
constexpr std::chrono::seconds kBetweenAnnouncements{5};

// Bounds the memory of a session, and limits a leaf batch to what can be read
// at the allowed rate before the peer times out.
void Bound(const ReplicatorOptions& options, uint64_t reads_per_second,
           SessionOptions* session) {
  constexpr size_t kFewest = size_t{1} << 12;
  constexpr size_t kMost = size_t{1} << 24;
  BoundMemory(options.max_session_bytes, size_t{1} << kLeafBits, session);
  size_t most = session->max_batch_elements;
  if (reads_per_second > 0) {
    const auto patience = static_cast<uint64_t>(options.io_timeout.count());
    const double readable = static_cast<double>(reads_per_second) *
                            static_cast<double>(patience) / 4000;
    most = std::min(most, static_cast<size_t>(std::min(readable, 1e9)));
  }
  session->max_batch_elements = std::clamp(most, kFewest, kMost);
}

uint64_t NextLink() {
  static std::atomic<uint64_t> links{0};
  return links.fetch_add(1, std::memory_order_relaxed);
}

// Says which side leaves quarantined pairs out of its set, and what becomes of
// them.
rocksdb::Status LeftOut(const SessionReport& report) {
  return rocksdb::Status::Incomplete(
      "the digests are equal, but quarantined pairs are in neither: " +
          std::to_string(report.left_out) + " here, " +
          std::to_string(report.peer_left_out) + " at the peer",
      QuarantineRemedy());
}

// Says which pairs one side refuses or cannot read, and what to do about it.
rocksdb::Status Refused(const SessionReport& report) {
  std::string text;
  const auto add = [&text](uint64_t pairs, const char* what) {
    if (pairs == 0) return;
    if (!text.empty()) text += ", ";
    text += std::to_string(pairs) + what;
  };
  add(report.pairs_held_back,
      " too far in the future (max_clock_ahead_ms; correct the clock of "
      "held_back_replica in `rocksync status`, then `rocksync restamp` there; "
      "if pairs of all other replicas are, the clock of this one is behind: "
      "correct that, and restamp nothing)");
  add(report.pairs_too_large,
      " above the size limits (enlarge max_key_bytes or max_value_bytes on all "
      "replicas, or delete the pair)");
  add(report.pairs_unreadable,
      " unreadable (scrub this replica; what a peer has is brought back, else "
      "write or delete the key)");
  if (text.empty()) {
    return rocksdb::Status::Incomplete(
        "all pairs were replicated but those that the peer refuses or cannot "
        "read",
        "if its `rocksync status` shows quarantined pairs (quarantined_now), "
        "they do not read there: scrub it, and sync again; "
        "if it names this replica as held_back_replica, the "
        "clock of this machine is ahead: correct it, then `rocksync restamp` "
        "here; if it names all others, too, its own clock is behind: correct "
        "that, and restamp nothing; if none of this, they are above the "
        "peer's size limits (max_key_bytes, max_value_bytes): enlarge them "
        "there");
  }
  return rocksdb::Status::Incomplete(
      "all pairs were replicated but those that this side refuses or cannot "
      "read",
      text + "; the database's file LOG tells more");
}

// Returns the initiator's status for a session that both sides completed.
rocksdb::Status StatusOf(const SessionReport& report) {
  if (report.proven_equal || report.busy || report.expired) {
    return rocksdb::Status::OK();
  }
  if (report.digests_equal) return LeftOut(report);
  if (report.refused) return Refused(report);
  return rocksdb::Status::TryAgain("the session ended without a proof",
                                   report.why);
}

}  // namespace

SessionOptions ToSessionOptions(const ReplicatorContext& replica) {
  const ReplicatorOptions& options = replica.options;
  SessionOptions session;
  session.exchange.mode = options.mode == ReplicatorOptions::Mode::kBloomOnly
                              ? ExchangeMode::kBloom
                              : ExchangeMode::kAdaptive;
  session.exchange.prefer =
      options.prefer == ReplicatorOptions::Prefer::kRoundTrips
          ? Prefer::kRoundTrips
          : Prefer::kBytes;
  session.exchange.false_positive_rate = options.false_positive_rate;
  session.max_key_bytes = replica.db->replication_options().max_key_bytes;
  session.max_value_bytes = replica.db->replication_options().max_value_bytes;
  Bound(options, replica.index_reads.rate(), &session);
  return session;
}

SessionDriveOptions DriveOptionsOf(ReplicatorContext* replica) {
  return {.io_timeout = replica->options.io_timeout,
          .cancelled = replica->stopped,
          .bytes = &replica->bytes};
}

Link::Link(ReplicatorContext* replica, Role role, ListedConnection connection)
    : replica_(replica),
      role_(role),
      number_(NextLink()),
      connection_(std::move(connection)) {}

rocksdb::Status Link::Open(ReplicatorContext* replica,
                           std::unique_ptr<Connection> connection,
                           std::unique_ptr<Link>* link) {
  return Open(replica, Role::kInitiator,
              ListedConnection(&replica->connections, std::move(connection)),
              "", link);
}

rocksdb::Status Link::Accept(ReplicatorContext* replica,
                             ListedConnection connection, std::string first,
                             std::unique_ptr<Link>* link) {
  return Open(replica, Role::kResponder, std::move(connection),
              std::move(first), link);
}

rocksdb::Status Link::Open(ReplicatorContext* replica, Role role,
                           ListedConnection connection, std::string first,
                           std::unique_ptr<Link>* link) {
  std::unique_ptr<Link> opened(new Link(replica, role, std::move(connection)));
  rocksdb::Status s = opened->SetUp(std::move(first));
  if (s.ok()) *link = std::move(opened);
  return s;
}

rocksdb::Status Link::SetUp(std::string first) {
  rocksdb::Status s;
  if (role_ == Role::kInitiator) {
    Admission admission;
    s = AuthenticateAsDialer(AdmissionConfigOf(*replica_), connection_.get(),
                             &admission);
    if (!s.ok()) return s;
  }
  SetupResult met;
  s = PerformSetup(replica_, role_, connection_.get(), std::move(first), &met);
  if (met.peer_is_copy) {
    replica_->stats.RecordRefusedCopy(peer_name(), met.peer_id, role_, s);
  }
  // A dialer's failures are counted by the code that dials. After TryAgain the
  // two meet again at once, so it is not counted.
  if (!s.ok() && !s.IsTryAgain() && role_ == Role::kResponder) {
    StatsBoard::Standing standing = StatsBoard::Standing::kNoList;
    if (met.mine.gc.epoch != 0) {
      standing = met.mine.gc.Find(met.peer_id) != nullptr
                     ? StatsBoard::Standing::kMember
                     : StatsBoard::Standing::kNotNamed;
    }
    replica_->stats.RecordRefusal(peer_name(), met.peer_id, standing, s);
  }
  if (!s.ok()) return s;
  peer_id_ = met.peer_id;
  peer_incarnation_ = met.peer_incarnation;
  peer_takes_streams_ = (met.peer_capabilities & kCapabilityStreams) != 0;
  seed_ = met.seed;
  view_ = std::move(met.view);
  mine_ = std::move(met.mine);
  theirs_ = std::move(met.theirs);
  announced_ = std::chrono::steady_clock::now();
  return s;
}

rocksdb::Status Link::AwaitSession(std::string* first) {
  rocksdb::Status s;
  do {
    s = Await(first, kBetweenSessions);
  } while (s.ok() && first->empty());
  return s;
}

rocksdb::Status Link::Await(std::string* first,
                            std::chrono::milliseconds patience) {
  rocksdb::Status s = connection_->Receive(first, patience);
  if (!s.ok()) return s;
  // Without this check a copy and its original would both go on for as long as
  // their connections last.
  if (!PeerIncarnationIsCurrent()) {
    return rocksdb::Status::TryAgain(
        "reconnecting",
        "the peer was opened again since this connection was set up");
  }
  const bool announces =
      !first->empty() &&
      (*first)[0] == static_cast<char>(MessageType::kAnnouncement);
  if (!announces) {
    return stale() ? rocksdb::Status::TryAgain(
                         "reconnecting",
                         "membership or families changed since this "
                         "connection was set up")
                   : s;
  }
  const Announcement mine = StoreAccess::MembershipOf(replica_->db)->Announce();
  s = connection_->Send(mine.Encode(), replica_->options.io_timeout);
  if (s.ok()) s = TakeAnnouncement(mine, *first);
  first->clear();
  return s;
}

bool Link::PeerIncarnationIsCurrent() const {
  const std::optional<Incarnation> known =
      StoreAccess::PeersOf(replica_->db)->Recall(peer_id_);
  return !known || known->incarnation == peer_incarnation_;
}

// Announcements are sent only while there are tombstones to collect, so a link
// between replicas without deletions carries nothing but sessions.
bool Link::WorthAnnouncing() const {
  if (mine_.gc.epoch == 0 ||
      replica_->db->GetTombstoneGcStats().tombstones == 0) {
    return false;
  }
  const Announcement now = StoreAccess::MembershipOf(replica_->db)->Announce();
  return now.reading != mine_.reading || now.gc != mine_.gc ||
         std::chrono::steady_clock::now() - announced_ > kBetweenAnnouncements;
}

rocksdb::Status Link::Announce() {
  const Announcement mine = StoreAccess::MembershipOf(replica_->db)->Announce();
  const auto timeout = replica_->options.io_timeout;
  rocksdb::Status s = connection_->Send(mine.Encode(), timeout);
  std::string message;
  if (s.ok()) s = connection_->Receive(&message, timeout);
  return s.ok() ? TakeAnnouncement(mine, message) : AddTimeoutRemedy(s);
}

rocksdb::Status Link::TakeAnnouncement(const Announcement& mine,
                                       const std::string& message) {
  Announcement theirs;
  if (!theirs.DecodeFrom(message)) {
    return rocksdb::Status::InvalidArgument(
        "a malformed announcement from " + peer_name(),
        "its software is damaged, or is not rocksync");
  }
  const uint64_t my_id = replica_->identity.replica_id;
  const PeerJudgement verdict =
      mine.gc.JudgePeer(my_id, theirs.gc, peer_id_,
                        StoreAccess::MembershipOf(replica_->db)
                            ->SaidWith(peer_id_, peer_incarnation_));
  if (verdict.verdict != PeerVerdict::kSameList) {
    return rocksdb::Status::TryAgain("reconnecting", verdict.why);
  }
  const rocksdb::Status s = AgreeWith(replica_, peer_id_, peer_incarnation_,
                                      mine, theirs, view_.get());
  if (!s.ok()) return s;
  mine_ = mine;
  theirs_ = std::move(theirs);
  announced_ = std::chrono::steady_clock::now();
  return s;
}

void Link::NoteProof() {
  const rocksdb::Status s =
      StoreAccess::MembershipOf(replica_->db)->Proved(mine_, peer_id_, theirs_);
  if (s.ok()) return;
  rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, replica_->log,
               "rocksync: could not persist the proof of equality with %s, so "
               "tombstones stay until the next one: %s",
               peer_name().c_str(), s.ToString().c_str());
}

SessionResult Link::RunToEnd(std::string first, SessionContext context,
                             SessionReport* report) {
  context.storage = view_.get();
  if (replica_->slots.paused()) context.busy_why = kPausedText;
  SessionDriveOptions options = DriveOptionsOf(replica_);
  options.peer_wait = &peer_wait_;
  SessionRunEnd end = RunOneSession({.role = role_,
                                     .options = ToSessionOptions(*replica_),
                                     .context = std::move(context),
                                     .first = std::move(first)},
                                    options, &seed_, connection_.get());
  *report = std::move(end.report);
  SessionResult result;
  result.status = end.status;
  result.busy = report->busy;
  result.why = report->why;
  result.expired = report->expired;
  result.index_build = report->index_build;
  result.heard = report->bytes_received > 0;
  result.link_usable = end.connection_usable;
  return result;
}

SessionResult Link::Compare(const VerifyTask& task, VerifiedPeer* peer,
                            SessionReport* report) {
  SessionResult other;
  other.status = CheckIsSame(
      {.peer_id = peer_id_, .link = number_, .families = view_->family_names()},
      peer);
  other.link_usable = true;
  if (!other.status.ok()) return other;
  const auto started = std::chrono::steady_clock::now();
  SessionContext context;
  context.verify = &task;
  const SessionResult result = RunToEnd("", std::move(context), report);
  if (result.heard && !result.busy) {
    replica_->session_log.Write(replica_->log.get(), peer_name(), peer_id_,
                                *report, result.status,
                                std::chrono::steady_clock::now() - started);
  }
  return result;
}

SessionResult Link::RunSession(std::string first, bool slot) {
  const auto started = std::chrono::steady_clock::now();
  const std::unique_ptr<SessionCounters> line =
      replica_->stats.Begin(peer_name(), peer_id_, open_, role_);
  only_sends_ = false;
  SessionContext context;
  context.busy = !slot;
  context.progress = [&](const SessionReport& so_far) {
    only_sends_ = so_far.pairs_to_send > 0 && so_far.pairs_to_receive == 0;
    if (!so_far.busy && slot && !so_far.verifying) line->Update(so_far);
  };
  SessionReport report;
  SessionResult result =
      RunToEnd(std::move(first), std::move(context), &report);
  result.busy |= !slot;
  // The proof counts even if the turn that reports it to the peer is lost: both
  // sides hold the same as of their snapshots. It is noted before the
  // announcement below, which may already include it.
  result.proven = report.proven_equal;
  if (report.proven_equal) NoteProof();
  if (result.status.ok() && role_ == Role::kInitiator) {
    result.status = StatusOf(report);
    if (report.digests_equal && result.link_usable && WorthAnnouncing()) {
      result.link_usable = Announce().ok();
    }
  }
  if (!result.status.ok() && role_ == Role::kInitiator && stale()) {
    // Whatever the error was, replication goes on with the new terms.
    result.status = rocksdb::Status::OK();
    result.expired = true;
    result.link_usable = false;
    line->GiveUp(report);
    return result;
  }
  const bool never_began =
      role_ == Role::kInitiator && !result.heard && !result.status.ok();
  if (result.busy && !report.verifying) line->GiveUp(report);
  if (result.busy || never_began) return result;
  // The listener logs and counts the outcome that the dialer gets as its
  // result.
  const rocksdb::Status outcome = result.status.ok() && !report.verifying
                                      ? StatusOf(report)
                                      : result.status;
  if (!report.verifying) line->Finish(report, outcome);
  replica_->session_log.Write(replica_->log.get(), peer_name(), peer_id_,
                              report, outcome,
                              std::chrono::steady_clock::now() - started);
  return result;
}

}  // namespace rocksync

#include "rocksync/replicator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "replication/admin/status_report.h"
#include "replication/metrics/json.h"
#include "replication/metrics/stats_json.h"
#include "replication/peering/replicator_context.h"
#include "replication/peering/verification.h"
#include "replication/replicator/acceptor.h"
#include "replication/replicator/dialer.h"
#include "replication/replicator/scrubber.h"
#include "replication/replicator/session_dialers.h"
#include "replication/replicator/shared_listener_access.h"
#include "replication/replicator/start_checks.h"
#include "replication/replicator/stream_dialers.h"
#include "replication/session/session.h"
#include "replication/store/replicator_claim.h"
#include "replication/store/store_access.h"
#include "replication/store/write/callback_scope.h"
#include "rocksync/shared_listener.h"

namespace rocksync {
namespace {

// Sets `*transport` to that of the shared listener, if there is one. Returns
// InvalidArgument if another transport, or a listen_address, was given too.
rocksdb::Status ShareListener(const ReplicatorOptions& options,
                              std::shared_ptr<Transport>* transport) {
  if (options.shared_listener == nullptr) return rocksdb::Status::OK();
  if (!options.listen_address.empty()) {
    return rocksdb::Status::InvalidArgument(
        "ReplicatorOptions::shared_listener and listen_address exclude each "
        "other");
  }
  if (*transport != nullptr &&
      *transport != options.shared_listener->transport()) {
    return rocksdb::Status::InvalidArgument(
        "the transport is another one than that of "
        "ReplicatorOptions::shared_listener",
        "give none");
  }
  *transport = SharedListenerAccess::TransportOf(*options.shared_listener);
  return rocksdb::Status::OK();
}

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How often a comparison polls whether its asker has gone.
constexpr milliseconds kCancelledPoll{250};
// How often the pause before a paused peer is asked again doubles: up to 2 s.
constexpr int kMaxDoublings = 4;

// The most streams that still have to end since SetPeers removed their peers.
constexpr size_t kMaxEndingStreams = 256;

class ReplicatorImpl : public Replicator {
 public:
  ReplicatorImpl(const ReplicatorOptions& options, ReplicatedDB* db,
                 std::shared_ptr<Transport> transport);
  ~ReplicatorImpl() override { Stop(); }

  rocksdb::Status Begin();

  void Stop() override;
  rocksdb::Status SyncNow(const std::string& peer) override;
  rocksdb::Status Verify(const std::string& peer, const VerifyOptions& options,
                         const DifferenceCallback& differs,
                         VerifyResult* result) override {
    return VerifyUnless([] { return false; }, peer, options, differs, result);
  }
  rocksdb::Status ScrubNow() override;
  rocksdb::Status SetPeers(const std::vector<std::string>& peers) override;
  void Pause() override;
  void Resume() override;
  rocksdb::Status SetLimits(const ReplicatorLimits& limits) override;
  ReplicatorLimits limits() const override;
  ReplicationStats stats() const override;
  std::string StatusJson() const override;
  std::string listen_address() const override;

 private:
  // Runs Verify for an asker that may go: if `cancelled` returns true, it ends
  // between two looks.
  rocksdb::Status VerifyUnless(const std::function<bool()>& cancelled,
                               const std::string& peer,
                               const VerifyOptions& options,
                               const DifferenceCallback& differs,
                               VerifyResult* result);
  // Counts a call of the application that is under way.
  class Call {
   public:
    explicit Call(ReplicatorImpl* replicator) : replicator_(replicator) {
      const std::lock_guard lock(replicator_->mutex_);
      ++replicator_->calls_;
    }
    ~Call() {
      const std::lock_guard lock(replicator_->mutex_);
      --replicator_->calls_;
      replicator_->changed_.notify_all();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    ReplicatorImpl* const replicator_;
  };

  // Listens at a port of its own, or for its cluster at a shared port, or not
  // at all, as the options say.
  rocksdb::Status Listen();
  void StopListening();
  const std::string& cluster_name() const {
    return replica_.db->replication_options().cluster_name;
  }
  void StopAll();
  // Returns Aborted once the replicator is stopped: from then on the database
  // may be gone.
  rocksdb::Status CheckRunning() const;
  // Returns InvalidArgument in a callback: `call` would wait for what the
  // callback holds up.
  rocksdb::Status CheckMayWait(const char* call) const {
    return rocksync::CheckMayWait(replica_.indexed, call);
  }
  // Checks CheckMayWait for `call`, and that `peer` is an address of the
  // transport.
  rocksdb::Status CheckMayMeet(const char* call,
                               const std::string& peer) const {
    const rocksdb::Status s = CheckMayWait(call);
    return s.ok() ? replica_.transport->CheckAddress(peer) : s;
  }
  // Calls `meet`, which runs a session, until neither side is busy. Returns
  // Busy after io_timeout, or at once if this replica is paused.
  SessionResult RunOnceFree(const std::string& peer,
                            const std::function<SessionResult()>& meet);
  rocksdb::Status OpenStreams(const std::vector<PeerList::Peer>& peers);
  // Returns true if there is a configured peer, and the digests of every one
  // were found equal in a session that began after this reading of the wall
  // clock. Quarantined pairs left out of the digests do not matter here: peers
  // resolve a quarantined pair only by what is in their digests.
  bool AllEqualSince(uint64_t wall_ms) const;
  void SleepOrStop(milliseconds time);
  milliseconds BusyPause();

  const std::shared_ptr<ReplicatorClaim> claim_;
  ReplicatorContext replica_;
  const std::shared_ptr<ClusterSwitch> shared_port_;  // may be null
  std::atomic<bool> listening_{false};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ReplicatorLimits limits_;
  std::minstd_rand random_{std::random_device{}()};
  int calls_ = 0;  // of SyncNow, Verify and ScrubNow that are under way
  // The statistics of the database as they were when the replicator stopped.
  mutable std::mutex last_mutex_;
  bool stopped_ = false;
  JsonObject last_database_;
  IndexBuildProgress last_index_;
  DiskSpaceStats last_disk_;
  ScrubStats last_scrub_;
  TombstoneGcStats last_gc_;
  std::mutex stop_;  // held while stopping
  Scrubber scrubber_;
  SessionDialers session_dialers_;
  StreamDialers stream_dialers_;
  Acceptor acceptor_;  // last: its threads use the rest
};

ReplicatorImpl::ReplicatorImpl(const ReplicatorOptions& options,
                               ReplicatedDB* db,
                               std::shared_ptr<Transport> transport)
    : claim_(StoreAccess::ClaimOf(db)),
      replica_(options, db, std::move(transport)),
      shared_port_(
          options.shared_listener == nullptr
              ? nullptr
              : SharedListenerAccess::SwitchOf(*options.shared_listener)),
      scrubber_(
          &replica_, [this](uint64_t ms) { return AllEqualSince(ms); },
          [this] {
            replica_.stats.ForgetIndexBuild();
            session_dialers_.RetryFailed();
          }),
      session_dialers_(&replica_, std::random_device{}()),
      stream_dialers_(
          &replica_, std::random_device{}(),
          [this](size_t peer) { session_dialers_.AskForSession(peer); }),
      acceptor_(
          &replica_,
          [this](uint64_t id, const SessionResult& result) {
            session_dialers_.RecordIncomingSession(id, result);
          },
          [this](const std::string& peer, const VerifyOptions& how,
                 const DifferenceCallback& differs,
                 const std::function<bool()>& cancelled, VerifyResult* result) {
            return VerifyUnless(cancelled, peer, how, differs, result);
          }) {
  replica_.scrub_stats = [this] { return scrubber_.stats(); };
}

rocksdb::Status ReplicatorImpl::Begin() {
  if (!claim_->Take(this, [this] { Stop(); })) {
    return rocksdb::Status::InvalidArgument(
        "another replicator runs on this database",
        "stop that one first, or use it");
  }
  replica_.transport->SetLogger(replica_.log);
  acceptor_.Start();
  rocksdb::Status s = SetLimits(replica_.options.limits);
  if (s.ok()) s = Listen();
  if (s.ok()) s = scrubber_.Start();
  if (!s.ok()) return s;
  s = OpenStreams(session_dialers_.peers());
  return s.ok() ? session_dialers_.Start() : s;
}

rocksdb::Status ReplicatorImpl::Listen() {
  rocksdb::Status s;
  if (shared_port_ != nullptr) {
    s = shared_port_->Add(cluster_name(), replica_.options.max_accepted,
                          [this](IncomingConnection incoming) {
                            acceptor_.Receive(std::move(incoming));
                          });
  } else if (!replica_.options.listen_address.empty()) {
    replica_.transport->SetMaxAccepted(replica_.options.max_accepted);
    s = replica_.transport->Listen(
        replica_.options.listen_address,
        [this](std::unique_ptr<Connection> connection) {
          acceptor_.Receive(IncomingConnection(std::move(connection)));
        });
  } else {
    return s;
  }
  listening_ = s.ok();
  return s;
}

void ReplicatorImpl::StopListening() {
  if (!listening_.exchange(false)) return;
  if (shared_port_ != nullptr) {
    shared_port_->Remove(cluster_name());
  } else {
    replica_.transport->StopListening();
  }
}

void ReplicatorImpl::Stop() {
  StopAll();
  // Not in StopAll, which returns early if the replicator has been stopped: a
  // second call waits here for a database that is stopping it, see StopHolder.
  claim_->Release(this);
}

// Wakes the threads from whatever they wait for: closes connections and refuses
// slots; the rest polls `stopping`.
void ReplicatorImpl::StopAll() {
  {
    const std::lock_guard lock(last_mutex_);
    if (stopped_) return;
  }
  // Stop cannot return an error, and in a callback it would never return.
  if (const rocksdb::Status s = CheckMayWait("Replicator::Stop"); !s.ok()) {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    std::abort();
  }
  const std::lock_guard one_at_a_time(stop_);
  {
    const std::lock_guard lock(mutex_);
    replica_.stopping = true;
  }
  changed_.notify_all();
  replica_.slots.Stop();
  StopListening();
  replica_.connections.CloseAll();
  session_dialers_.Join();
  stream_dialers_.Join();
  acceptor_.Join();
  scrubber_.Stop();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return calls_ == 0; });
  }
  // The database, and its log with it, may be gone once this returns.
  replica_.transport->SetLogger(nullptr);
  const std::lock_guard lock(last_mutex_);
  if (std::exchange(stopped_, true)) return;
  last_database_ = DatabaseReport(replica_, acceptor_.ServedClones());
  last_index_ = replica_.db->GetIndexBuildProgress();
  last_disk_ = replica_.db->GetDiskSpaceStats();
  last_scrub_ = scrubber_.stats();
  last_gc_ = replica_.db->GetTombstoneGcStats();
}

rocksdb::Status ReplicatorImpl::OpenStreams(
    const std::vector<PeerList::Peer>& peers) {
  std::map<size_t, std::string> addresses;
  for (const PeerList::Peer& peer : peers) {
    addresses.emplace(peer.number, peer.dialer->address());
  }
  return stream_dialers_.Add(addresses);
}

void ReplicatorImpl::SleepOrStop(milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return replica_.stopping.load(); });
}

milliseconds ReplicatorImpl::BusyPause() {
  const std::lock_guard lock(mutex_);
  return milliseconds(std::uniform_int_distribution<int>(20, 120)(random_));
}

SessionResult ReplicatorImpl::RunOnceFree(
    const std::string& peer, const std::function<SessionResult()>& meet) {
  const auto patience = Clock::now() + replica_.options.io_timeout;
  for (int paused = 0;; ++paused) {
    SessionResult result = meet();
    if (replica_.stopping) {
      result.status = CheckRunning();
      return result;
    }
    if (!result.status.ok() || !result.busy) return result;
    if (replica_.slots.paused()) {
      result.status = rocksdb::Status::Busy(
          "this replica is paused",
          "Replicator::Resume, of the store REPLICATION RESUME, ends that");
      return result;
    }
    if (Clock::now() >= patience) {
      result.status =
          result.why.empty()
              ? rocksdb::Status::Busy("peer busy: " + peer +
                                          ", or this replica, is in another "
                                          "session",
                                      "try again")
              : rocksdb::Status::Busy(peer, result.why);
      return result;
    }
    // A peer in another session expects this replica back soon; a peer that
    // gives a reason does not.
    if (result.why.empty()) paused = 0;
    SleepOrStop(BusyPause() * (1 << std::min(paused, kMaxDoublings)));
  }
}

rocksdb::Status ReplicatorImpl::CheckRunning() const {
  return replica_.stopping
             ? rocksdb::Status::Aborted("the replicator was stopped")
             : rocksdb::Status::OK();
}

rocksdb::Status ReplicatorImpl::SyncNow(const std::string& peer) {
  if (rocksdb::Status s = CheckMayMeet("SyncNow", peer); !s.ok()) return s;
  const Call call(this);
  if (rocksdb::Status s = CheckRunning(); !s.ok()) return s;
  SessionResult result;
  do {
    result = RunOnceFree(peer, [&] {
      return session_dialers_.WithDialer(
          peer, [this](Dialer* dialer, std::optional<size_t> number) {
            const SessionResult met = dialer->RunSession();
            if (number.has_value() && !replica_.stopping) {
              session_dialers_.RecordSession(*number, met);
            }
            return met;
          });
    });
  } while (result.status.ok() && result.expired);
  return result.status;
}

rocksdb::Status ReplicatorImpl::VerifyUnless(
    const std::function<bool()>& cancelled, const std::string& peer,
    const VerifyOptions& options, const DifferenceCallback& differs,
    VerifyResult* result) {
  if (rocksdb::Status s = CheckMayMeet("Verify", peer); !s.ok()) return s;
  const Call call(this);
  if (rocksdb::Status s = CheckRunning(); !s.ok()) return s;
  VerificationSteps steps;
  const auto goes_on = [&] { return !replica_.stopping && !cancelled(); };
  steps.sleep = [&](milliseconds time) {
    for (; time > milliseconds(0) && goes_on(); time -= kCancelledPoll) {
      SleepOrStop(std::min(time, kCancelledPoll));
    }
    return goes_on();
  };
  steps.session = [&](const VerifyTask& task, VerifiedPeer* verified,
                      SessionReport* report) {
    return RunOnceFree(peer,
                       [&] {
                         return session_dialers_.WithDialer(
                             peer, [&](Dialer* dialer, std::optional<size_t>) {
                               return dialer->Compare(task, verified, report);
                             });
                       })
        .status;
  };
  return RunVerification(
      options, steps, replica_.InScope(differs, Callback::kDifference), result);
}

// A replica without configured peers, which only listens, goes by the member
// list instead.
bool ReplicatorImpl::AllEqualSince(uint64_t wall_ms) const {
  const ReplicationStats stats = replica_.stats.stats();
  const auto equal = [&](const PeerStats& peer) {
    return peer.digests_equal_as_of_ms > wall_ms;
  };
  const auto configured = [](const PeerStats& peer) { return peer.configured; };
  if (std::any_of(stats.peers.begin(), stats.peers.end(), configured)) {
    return std::all_of(
        stats.peers.begin(), stats.peers.end(),
        [&](const PeerStats& peer) { return !peer.configured || equal(peer); });
  }
  const auto members = replica_.db->GetTombstoneGcStats().members;
  const auto met_equal = [&](const MemberStats& member) {
    return member.replica_id == stats.replica_id ||
           std::any_of(stats.peers.begin(), stats.peers.end(),
                       [&](const PeerStats& peer) {
                         return peer.replica_id == member.replica_id &&
                                equal(peer);
                       });
  };
  return members.size() > 1 &&
         std::all_of(members.begin(), members.end(), met_equal);
}

rocksdb::Status ReplicatorImpl::ScrubNow() {
  if (rocksdb::Status s = CheckMayWait("ScrubNow"); !s.ok()) return s;
  const Call call(this);
  const rocksdb::Status s = CheckRunning();
  return s.ok() ? scrubber_.ScrubNow() : s;
}

rocksdb::Status ReplicatorImpl::SetPeers(
    const std::vector<std::string>& peers) {
  rocksdb::Status s = CheckPeers("SetPeers", peers, *replica_.transport);
  if (!s.ok()) return s;
  PeerList::Change change;  // removed peers hang up once the locks are released
  {
    const std::lock_guard lock(mutex_);
    if (s = CheckRunning(); !s.ok()) return s;
    if (stream_dialers_.ending() >= kMaxEndingStreams) {
      return rocksdb::Status::Busy(
          "SetPeers was called too often",
          "streams to peers that were removed still end; try again");
    }
    change = session_dialers_.SetPeers(peers);
    // Under the lock, since Stop joins these threads once it has held it.
    for (const PeerList::Peer& peer : change.removed) {
      stream_dialers_.Remove(peer.number);
    }
    // After both: a thread that is still dialing a removed peer checks for that
    // when it adds the peer to the statistics.
    replica_.stats.SetPeers(peers);
    // All peers, as an earlier call may have got no thread for some of them.
    s = OpenStreams(session_dialers_.peers());
  }
  return s;
}

void ReplicatorImpl::Pause() {
  replica_.slots.SetPaused(true);
  replica_.streams.Allow(false);
}

void ReplicatorImpl::Resume() {
  replica_.slots.SetPaused(false);
  replica_.streams.Allow(true);
  session_dialers_.Wake();
  stream_dialers_.Wake();
}

rocksdb::Status ReplicatorImpl::SetLimits(const ReplicatorLimits& limits) {
  if (limits.max_sessions == 0) {
    return rocksdb::Status::InvalidArgument(
        "ReplicatorLimits::max_sessions must be above 0");
  }
  const std::lock_guard lock(mutex_);
  if (rocksdb::Status s = CheckRunning(); !s.ok()) return s;
  limits_ = limits;
  replica_.bytes.SetRate(limits.bytes_per_second);
  replica_.index_reads.SetRate(limits.index_reads_per_second);
  replica_.slots.SetCapacity(limits.max_sessions);
  scrubber_.SetRate(limits.scrub_bytes_per_second);
  scrubber_.SetPaused(limits.scrub_paused);
  return rocksdb::Status::OK();
}

ReplicatorLimits ReplicatorImpl::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

ReplicationStats ReplicatorImpl::stats() const {
  IndexBuildProgress index;
  DiskSpaceStats disk;
  ScrubStats scrub;
  TombstoneGcStats gc;
  {
    const std::lock_guard lock(last_mutex_);
    index = stopped_ ? last_index_ : replica_.db->GetIndexBuildProgress();
    disk = stopped_ ? last_disk_ : replica_.db->GetDiskSpaceStats();
    scrub = stopped_ ? last_scrub_ : scrubber_.stats();
    gc = stopped_ ? last_gc_ : replica_.db->GetTombstoneGcStats();
  }
  return StatsOf(replica_, index, disk, scrub, gc);
}

std::string ReplicatorImpl::StatusJson() const {
  JsonObject json;
  {
    const std::lock_guard lock(last_mutex_);
    json = stopped_ ? last_database_
                    : DatabaseReport(replica_, acceptor_.ServedClones());
  }
  AddStats(stats(), &json);
  return json.Text();
}

std::string ReplicatorImpl::listen_address() const {
  return listening_ ? replica_.transport->listen_address() : "";
}

}  // namespace

rocksdb::Status Replicator::Start(const ReplicatorOptions& options,
                                  ReplicatedDB* db,
                                  std::shared_ptr<Transport> transport,
                                  std::unique_ptr<Replicator>* replicator) {
  if (db == nullptr) {
    return rocksdb::Status::InvalidArgument("Replicator::Start: `db` is null",
                                            "give an open ReplicatedDB");
  }
  if (transport == nullptr && options.shared_listener == nullptr) {
    return rocksdb::Status::InvalidArgument(
        "Replicator::Start: `transport` is null",
        "give one (NewTlsTransport), or ReplicatorOptions::shared_listener");
  }
  // In a callback, Start might wait for its own thread: a replicator that
  // cannot begin is stopped here, which waits for its threads.
  rocksdb::Status s =
      CheckMayWait(StoreAccess::IndexedOf(db), "Replicator::Start");
  if (s.ok()) s = ShareListener(options, &transport);
  if (s.ok()) s = CheckBeforeStart(options, *db, *transport);
  if (!s.ok()) return s;
  auto started =
      std::make_unique<ReplicatorImpl>(options, db, std::move(transport));
  s = started->Begin();
  if (s.ok()) *replicator = std::move(started);
  return s;
}

}  // namespace rocksync

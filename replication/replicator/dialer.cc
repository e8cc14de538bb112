#include "replication/replicator/dialer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "replication/peering/dial_link.h"
#include "replication/statistics/one_line.h"
#include "replication/store/write/callback_scope.h"

namespace rocksync {
namespace {

constexpr std::chrono::milliseconds kSlotWait{1'000};
// The most links in a row that break before the peer has said anything.
constexpr int kMaxBroken = 3;

SessionResult Busy() {
  SessionResult busy;
  busy.busy = true;
  return busy;
}

rocksdb::Status Removed() {
  return rocksdb::Status::Aborted("the peer was removed");
}

}  // namespace

rocksdb::Status Dialer::Connect() {
  uint64_t shown_id = 0;
  const rocksdb::Status s =
      DialLink(replica_,
               {.address = address_,
                .connect_timeout =
                    std::min(kConnectTimeout, replica_->options.io_timeout),
                .cancelled = [this] { return replica_->stopping || retired_; }},
               &link_, &shown_id);
  if (!s.ok()) {
    if (shown_id != 0 && shown_id != replica_->identity.replica_id) {
      replica_->stats.RecordIdentity(address_, shown_id, retired_);
    }
    return s;
  }
  peer_id_ = link_->peer_id();
  return replica_->stats.RecordMeeting(address_, peer_id_, link_->open(),
                                       retired_)
             ? s
             : Removed();
}

SessionResult Dialer::Fail(const rocksdb::Status& status, bool index_build) {
  link_.reset();
  if (!replica_->stopping &&
      replica_->stats.RecordFailure(address_, status, index_build, retired_)) {
    rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, replica_->log,
                 "rocksync: no session with %s: %s", address_.c_str(),
                 OneLine(status.ToString()).c_str());
  }
  SessionResult failed;
  failed.status = status;
  failed.index_build = index_build;
  return failed;
}

SessionResult Dialer::RunSession() {
  return Run(!IsInCallback(),
             [this] { return link_->RunSession("", /*slot=*/true); });
}

SessionResult Dialer::Compare(const VerifyTask& task, VerifiedPeer* peer,
                              SessionReport* report) {
  return Run(/*patient=*/false,
             [&] { return link_->Compare(task, peer, report); });
}

void Dialer::HangUp() {
  const std::lock_guard lock(mutex_);
  if (!busy_) link_.reset();
}

SessionResult Dialer::Run(bool patient,
                          const std::function<SessionResult()>& session) {
  std::unique_lock lock(mutex_);
  const auto free = [this] { return !busy_; };
  if (patient) {
    free_.wait(lock, free);
  } else if (!free_.wait_for(lock, kSlotWait, free)) {
    return Busy();
  }
  busy_ = true;
  lock.unlock();
  SessionResult result = RunAlone(session);
  lock.lock();
  busy_ = false;
  free_.notify_one();
  return result;
}

// The slot is released before the link that it watches may be destroyed.
SessionResult Dialer::RunInSlot(const std::function<SessionResult()>& session) {
  const SessionSlot slot = replica_->slots.Acquire(link_->peer_id(), kSlotWait);
  if (!slot) {
    SessionResult result = Busy();
    result.no_slot = true;
    return result;
  }
  slot.Watch([link = link_.get()] { return link->progress(); });
  return session();
}

SessionResult Dialer::RunAlone(const std::function<SessionResult()>& session) {
  for (int broken = 0;; ++broken) {
    if (link_ != nullptr && link_->stale()) link_.reset();
    const bool kept = link_ != nullptr;
    rocksdb::Status s = kept ? rocksdb::Status::OK() : Connect();
    if (retired_) s = Removed();
    if (!s.ok()) return Fail(s, /*index_build=*/false);
    SessionResult result = RunInSlot(session);
    if (result.no_slot) return result;
    if (result.link_usable) return result;
    if (result.heard || result.expired) {
      link_.reset();
      return result;
    }
    // A link that broke while it was idle says nothing about the peer now, so
    // the session is tried over a new one. So it is if the peer hangs up on a
    // new link, since its members or families may have changed since the
    // set-up; but that does not happen again and again. A peer that stays
    // silent over its link has failed.
    const bool hung_up = kept || result.status.IsIOError();
    if (!hung_up || broken == kMaxBroken || result.status.IsTimedOut() ||
        replica_->stopping) {
      return Fail(result.status, result.index_build);
    }
    link_.reset();
  }
}

}  // namespace rocksync

#include "replication/store/upkeep/membership.h"

#include <algorithm>
#include <string>
#include <utility>

#include "replication/store/format/index_key.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/write/write_stall.h"
#include "rocksync/replica_id.h"

namespace rocksync {

namespace {

using rocksdb::Status;

// Returns the error for a peer that is behind what is known of it. Other
// members may also have been quicker to hand on a later reading, or
// incarnation.
Status DoesNotGoOn() {
  return Status::TryAgain(
      "rocksync: the peer's state is older than what other members have seen "
      "of it",
      "if this goes on it was rolled back, or a copy of it runs: export what "
      "it alone holds (`rocksync rescue`) and open it as a new replica");
}

}  // namespace

Membership::Membership(IndexedDB* indexed, const IndexBuild* index_build,
                       HeldBack* held_back, GcState now,
                       std::function<void()> stable_time_set)
    : indexed_(indexed),
      index_build_(index_build),
      held_back_(held_back),
      stable_time_set_(std::move(stable_time_set)),
      now_(std::move(now)),
      written_(now_) {
  SetOwnIncarnation(&now_);
  ShowTerms();
}

void Membership::ShowTerms() {
  epoch_.store(now_.epoch, std::memory_order_release);
  purged_.store(now_.purged, std::memory_order_release);
  may_hold_deleted_pairs_.store(now_.may_hold_deleted_pairs,
                                std::memory_order_release);
}

void Membership::SetOwnIncarnation(GcState* next) const {
  next->SetOwnIncarnation(indexed_->replica_id(), indexed_->incarnation());
}

GcState Membership::Now() const {
  const std::lock_guard lock(now_mutex_);
  return now_;
}

Announcement Membership::Announce() const {
  // The reading comes last: one from before a list would be taken for one that
  // covers what was handed on by members that the list no longer has.
  Announcement said;
  said.gc = Now();
  said.reading = indexed_->incarnation().clock;
  return said;
}

Status Membership::SetMembers(uint64_t epoch,
                              const std::vector<uint64_t>& replica_ids) {
  const std::lock_guard lock(mutex_);
  GcState next = now_;
  const absl::Status set =
      next.SetMembers(epoch, replica_ids, indexed_->replica_id());
  if (!set.ok()) {
    return Status::InvalidArgument("rocksync: " + std::string(set.message()));
  }
  const PatientGuard all(indexed_->locks(), LockDeadline());
  if (!all.held()) return Stalled();
  const Status status = PassReading(0);
  if (!status.ok()) return status;
  return Install(std::move(next));
}

// Moves the clock: readings from now on are greater than this one and all
// before.
Status Membership::PassReading(uint64_t reading) {
  const uint64_t passed = std::max(reading, indexed_->incarnation().clock) + 1;
  return WritePatiently([&] { return indexed_->FollowClock(passed); });
}

bool Membership::HasData() const {
  if (!index_build_->Progress().done) return true;
  IndexCursor cursor(indexed_->reader(), nullptr,
                     indexed_->reader().stable_time(),
                     IndexCursor::Order::kTotal);
  cursor.SeekToFirstEntry();
  return cursor.Valid() || !cursor.status().ok();
}

Status Membership::Learn(const Announcement& peer) {
  const std::lock_guard lock(mutex_);
  if (peer.gc.epoch <= now_.epoch) return Status::OK();
  if (held_back_->RejectIfTooFarAhead({peer.reading, 0})) {
    return Status::TryAgain(
        "rocksync: cannot install the member list: the peer's clock is too far "
        "ahead (max_clock_ahead_ms)",
        "set the clocks of both machines");
  }
  const PatientGuard all(indexed_->locks(), LockDeadline());
  if (!all.held()) return Stalled();
  const Status status = PassReading(peer.reading);
  if (!status.ok()) return status;
  GcState next = now_;
  const PeerJudgement verdict =
      next.InstallList(peer.gc, indexed_->replica_id(), HasData());
  if (verdict.verdict != PeerVerdict::kSameList) {
    return Status::InvalidArgument("rocksync: " + verdict.why);
  }
  return Install(std::move(next));
}

ReportedByBoth Membership::SaidWith(uint64_t peer_id,
                                    const IncarnationId& incarnation) const {
  const std::lock_guard lock(mutex_);
  ReportedByBoth said;
  said.theirs = sayings_.Of(peer_id, incarnation);
  said.mine.max_acknowledged = now_.max_acknowledged;
  return said;
}

Status Membership::Agree(const GcState& mine, uint64_t peer_id,
                         const IncarnationId& incarnation,
                         const Announcement& peer, Terms* agreed) {
  const std::lock_guard lock(mutex_);
  const Reported said = sayings_.Of(peer_id, incarnation);
  const GcState heard = Take(peer, peer_id);
  if (now_.ReadingWentBack(peer_id, peer.reading, said) ||
      !now_.AcceptsIncarnation(peer_id, incarnation, heard)) {
    return DoesNotGoOn();
  }
  sayings_.Note(peer_id, incarnation, peer);
  GcState next = now_;
  uint64_t identity_conflict = 0;
  *agreed = next.AgreeOnTerms(mine, heard, indexed_->replica_id(),
                              &identity_conflict);
  if (identity_conflict != 0) NoteIdentityConflict(identity_conflict);
  if (next.terms() != now_.terms() || next.stable() != now_.stable()) {
    return InstallWithStripes(std::move(next));
  }
  const Status status =
      TellsOfNewIncarnations(next) ? Write(next, {}) : Status::OK();
  if (status.ok()) SetNow(std::move(next));
  return status;
}

void Membership::SetNow(GcState next) {
  const std::lock_guard lock(now_mutex_);
  now_ = std::move(next);
}

bool Membership::TellsOfNewIncarnations(const GcState& next) const {
  return !std::equal(
      next.members.begin(), next.members.end(), written_.members.begin(),
      written_.members.end(), [](const Member& a, const Member& b) {
        return a.incarnation.incarnation == b.incarnation.incarnation;
      });
}

Status Membership::RecordSender(const Sender& sender, uint64_t epoch,
                                uint64_t latest) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return Status::Incomplete("waiting for the member list");
  if (now_.epoch != epoch) return Status::OK();
  {
    const std::lock_guard change(now_mutex_);
    if (!now_.RecordSender(sender.replica_id, sender.incarnation, latest)) {
      return DoesNotGoOn();
    }
  }
  const Member* const written = written_.Find(sender.replica_id);
  // Without this, a replica that has the pairs after a crash might not know
  // whose they are.
  if (written == nullptr || latest <= written->incarnation.clock) {
    return Status::OK();
  }
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  return Write(now_, at_once);
}

GcState Membership::Take(const Announcement& peer, uint64_t peer_id) const {
  return peer.AsTrusted(
      peer_id, [this](uint64_t reading) { return indexed_->Trusted(reading); });
}

void Membership::NoteIdentityConflict(uint64_t replica_id) {
  if (identity_conflict_.exchange(replica_id) == replica_id) return;
  rocksdb::Log(
      rocksdb::InfoLogLevel::ERROR_LEVEL,
      indexed_->db()->GetDBOptions().info_log,
      "rocksync: replica %s is known in two incarnations that do not follow "
      "one another: a copy of it runs, or an older state of its disk; "
      "nothing more is collected until one of the two is opened as a "
      "new replica, and a newer list is set",
      ReplicaIdHex(replica_id).c_str());
}

Status Membership::Proved(const Announcement& mine, uint64_t peer_id,
                          const Announcement& peer) {
  const std::lock_guard lock(mutex_);
  if (now_.epoch == 0 || !now_.HasListOf(mine.gc) || !now_.HasListOf(peer.gc)) {
    return Status::OK();
  }
  GcState next = now_;
  const bool acknowledges_more =
      next.RecordProof(indexed_->replica_id(), mine.reading, peer_id,
                       indexed_->Trusted(peer.reading), Take(peer, peer_id));
  if (next != now_) {
    rocksdb::WriteOptions options;
    options.sync = acknowledges_more;
    const Status status = Write(next, options);
    if (!status.ok()) return status;
    SetNow(std::move(next));
    ShowTerms();
  }
  // Otherwise a member whose clock is behind, with nothing written since, would
  // be said to hold up what both hold. After an error the next proof does it.
  indexed_->FollowPastClock(peer.reading).PermitUncheckedError();
  // This is due even if only others have news.
  return WorthAdvancing() ? AdvanceLocked() : Status::OK();
}

bool Membership::WorthAdvancing() const {
  const uint64_t to = now_.AttainableTime();
  if (to <= now_.stable_time) return false;
  const LeafDigests::Share share = indexed_->digests()->CollectedBy(to);
  return WorthCollecting(share.tombstones, share.elements);
}

Status Membership::Advance() {
  const std::lock_guard lock(mutex_);
  return AdvanceLocked();
}

Status Membership::AdvanceLocked() {
  GcState next = now_;
  if (!next.AdvanceStableTime()) return Status::OK();
  return InstallWithStripes(std::move(next));
}

Status Membership::InstallWithStripes(GcState next) {
  const PatientGuard all(indexed_->locks(), LockDeadline());
  if (!all.held()) return Stalled();
  return Install(std::move(next));
}

// Writes and shows `next`, with all stripes held: a thread that applies a pair
// holds stripes and reads the terms; one that readies digests holds all stripes
// and reads the stable time.
Status Membership::Install(GcState next) {
  SetOwnIncarnation(&next);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status = Write(next, synced);
  if (!status.ok()) return status;
  if (next.epoch != now_.epoch) identity_conflict_ = 0;
  // Digests that were readied by the smaller stable time earlier contain what
  // was swept up to the larger one.
  if (next.stable_time < now_.stable_time) indexed_->digests()->Distrust();
  const std::lock_guard lock(now_mutex_);
  now_ = std::move(next);
  ShowTerms();
  indexed_->SetStableTime(now_.stable_time);
  stable_time_set_();
  return status;
}

Status Membership::Write(const GcState& next,
                         const rocksdb::WriteOptions& options) {
  const std::string key = MetaKey(kGcStateRecord);
  // A caller that asks for no_slowdown tries again by itself.
  const Status status =
      options.no_slowdown
          ? indexed_->db()->Put(options, indexed_->reader().index(), key,
                                Encode(next))
          : indexed_->patient()->PutRecord(options, key, Encode(next));
  if (status.ok()) written_ = next;
  return status;
}

}  // namespace rocksync

#include "replication/store/membership.h"

#include <algorithm>
#include <string>
#include <utility>

#include "replication/store/identity_incarnation.h"
#include "replication/store/index_key.h"
#include "replication/store/index_reader.h"
#include "replication/store/store.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Or else other members were quicker to hand on a later reading, or a later
// incarnation.
Status DoesNotGoOn() {
  return Status::TryAgain(
      "rocksync: the peer does not go on where what others have seen of it "
      "ended",
      "if this goes on it was rolled back, or a copy of it runs: export what "
      "it alone holds (`rocksync rescue`) and open it as a new replica");
}

}  // namespace

Membership::Membership(Store* store, GcState now,
                       std::function<void()> stable_time_set)
    : store_(store),
      stable_time_set_(std::move(stable_time_set)),
      now_(std::move(now)),
      written_incarnations_(now_.incarnations) {
  SetOwnIncarnation(&now_);
  ShowTerms();
}

void Membership::ShowTerms() {
  epoch_.store(now_.list.epoch, std::memory_order_release);
  purged_.store(now_.purged, std::memory_order_release);
  unproven_.store(now_.unproven, std::memory_order_release);
}

void Membership::SetOwnIncarnation(GcState* next) const {
  const ReplicaIdentity me = store_->identity();
  rocksync::SetOwnIncarnation(me.replica_id, IncarnationOf(me), next);
}

GcState Membership::Now() const {
  const std::lock_guard lock(now_mutex_);
  return now_;
}

Announcement Membership::Announce() const {
  // In this order: a reading from before a list would be taken for one that
  // covers what was handed on by members that the list no longer has.
  Announcement said;
  said.gc = Now();
  said.reading = store_->identity().clock;
  return said;
}

Status Membership::SetMembers(uint64_t epoch,
                              const std::vector<uint64_t>& replica_ids) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<MemberList> list = SucceedingList(
      now_.list, epoch, replica_ids, store_->identity().replica_id);
  if (!list.ok()) {
    return Status::InvalidArgument("rocksync: " +
                                   std::string(list.status().message()));
  }
  AllStripesGuard all(store_->locks());
  const Status status = PassReading(0);
  if (!status.ok()) return status;
  GcState next = now_;
  Found(*list, &next);
  return Install(std::move(next));
}

// Readings from now on are greater than this one and all before.
Status Membership::PassReading(uint64_t reading) {
  return store_->FollowClock(std::max(reading, store_->identity().clock) + 1);
}

bool Membership::HasData() const {
  if (!store_->adoption_progress().done) return true;
  IndexCursor cursor(store_->reader(), nullptr, store_->reader().stable_time(),
                     IndexCursor::Order::kTotal);
  cursor.SeekToFirstEntry();
  return cursor.Valid() || !cursor.status().ok();
}

Status Membership::Learn(const Announcement& peer) {
  const std::lock_guard lock(mutex_);
  if (peer.gc.list.epoch <= now_.list.epoch) return Status::OK();
  if (store_->HoldsBack({peer.reading, 0})) {
    return Status::TryAgain(
        "rocksync: the clock of the member is too far ahead to join it",
        "set the clocks of both machines");
  }
  AllStripesGuard all(store_->locks());
  const Status status = PassReading(peer.reading);
  if (!status.ok()) return status;
  GcState next = now_;
  const MeetingVerdict verdict =
      Join(peer.gc, store_->identity().replica_id, HasData(), &next);
  if (verdict.meeting != Meeting::kAlike) {
    return Status::InvalidArgument("rocksync: " + verdict.why);
  }
  return Install(std::move(next));
}

SaidByBoth Membership::SaidWith(uint64_t peer_id,
                                const IncarnationId& incarnation) const {
  const std::lock_guard lock(mutex_);
  SaidByBoth said;
  said.theirs = sayings_.Of(peer_id, incarnation);
  said.mine.max_acknowledged = now_.max_acknowledged;
  return said;
}

Status Membership::Agree(const GcState& mine, uint64_t peer_id,
                         const IncarnationId& incarnation,
                         const Announcement& peer, Terms* agreed) {
  const std::lock_guard lock(mutex_);
  const Said said = sayings_.Of(peer_id, incarnation);
  const GcState heard = Take(peer, peer_id);
  if (WentBack(now_, peer_id, peer.reading, said) ||
      !Continues(now_, peer_id, incarnation, heard)) {
    return DoesNotGoOn();
  }
  sayings_.Note(peer_id, incarnation, peer);
  GcState next = now_;
  uint64_t identity_conflict = 0;
  *agreed = AgreeOnTerms(mine, heard, store_->identity().replica_id, &next,
                         &identity_conflict);
  if (identity_conflict != 0) NoteIdentityConflict(identity_conflict);
  if (TermsOf(next) != TermsOf(now_) ||
      StableTimeOf(next) != StableTimeOf(now_)) {
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
  return !std::equal(next.incarnations.begin(), next.incarnations.end(),
                     written_incarnations_.begin(), written_incarnations_.end(),
                     [](const Incarnation& a, const Incarnation& b) {
                       return a.incarnation == b.incarnation;
                     });
}

Status Membership::TakeFrom(const Sender& sender, uint64_t epoch,
                            uint64_t latest) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return Status::Incomplete("waiting for the member list");
  if (now_.list.epoch != epoch) return Status::OK();
  {
    const std::lock_guard change(now_mutex_);
    if (!RecordSource(sender.replica_id, sender.incarnation, latest, &now_)) {
      return DoesNotGoOn();
    }
  }
  const std::optional<size_t> they = now_.list.Find(sender.replica_id);
  // Else whoever has the pairs after a crash might not know whose they are.
  if (!they || latest <= written_incarnations_[*they].clock)
    return Status::OK();
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  return Write(now_, at_once);
}

GcState Membership::Take(const Announcement& peer, uint64_t peer_id) const {
  return Heard(peer, peer_id,
               [this](uint64_t reading) { return store_->Trusted(reading); });
}

void Membership::NoteIdentityConflict(uint64_t replica_id) {
  if (identity_conflict_.exchange(replica_id) == replica_id) return;
  rocksdb::Log(
      rocksdb::InfoLogLevel::ERROR_LEVEL, store_->db()->GetDBOptions().info_log,
      "[rocksync] replica %s is known in two incarnations that do not follow "
      "one another: a copy of it runs, or an older state of its disk; "
      "nothing more is collected until one of the two is opened as a "
      "new replica, and a newer list is set",
      HexOf(replica_id).c_str());
}

Status Membership::Proved(const Announcement& mine, uint64_t peer_id,
                          const Announcement& peer) {
  const std::lock_guard lock(mutex_);
  if (now_.list.epoch == 0 || now_.list != mine.gc.list ||
      now_.list != peer.gc.list) {
    return Status::OK();
  }
  GcState next = now_;
  rocksync::Proved(store_->identity().replica_id, mine.reading, peer_id,
                   store_->Trusted(peer.reading), Take(peer, peer_id), &next);
  if (next != now_) {
    rocksdb::WriteOptions options;
    options.sync = next.acknowledged != now_.acknowledged;
    const Status status = Write(next, options);
    if (!status.ok()) return status;
    SetNow(std::move(next));
    ShowTerms();
  }
  // Also if only others have news.
  return WorthAdvancing() ? AdvanceLocked() : Status::OK();
}

bool Membership::WorthAdvancing() const {
  const uint64_t to = Attainable(now_);
  if (to <= now_.stable_time) return false;
  const LeafDigests::Share share = store_->digests()->CollectedBy(to);
  return WorthCollecting(share.tombstones, share.elements);
}

Status Membership::Advance() {
  const std::lock_guard lock(mutex_);
  return AdvanceLocked();
}

Status Membership::AdvanceLocked() {
  GcState next = now_;
  if (!rocksync::Advance(&next)) return Status::OK();
  return InstallWithStripes(std::move(next));
}

Status Membership::InstallWithStripes(GcState next) {
  AllStripesGuard all(store_->locks());
  return Install(std::move(next));
}

// A thread that applies a pair holds stripes and reads the terms; one that
// readies digests holds all stripes and reads the stable time.
Status Membership::Install(GcState next) {
  SetOwnIncarnation(&next);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status = Write(next, synced);
  if (!status.ok()) return status;
  if (next.list.epoch != now_.list.epoch) identity_conflict_ = 0;
  // Digests readied earlier by a smaller stable time contain what was swept up
  // to the larger one.
  if (next.stable_time < now_.stable_time) store_->digests()->Distrust();
  const std::lock_guard lock(now_mutex_);
  now_ = std::move(next);
  ShowTerms();
  store_->SetStableTime(now_.stable_time);
  stable_time_set_();
  return status;
}

Status Membership::Write(const GcState& next,
                         const rocksdb::WriteOptions& options) {
  const Status status = store_->db()->Put(
      options, store_->reader().index(), MetaKey(kGcStateRecord), Encode(next));
  if (status.ok()) written_incarnations_ = next.incarnations;
  return status;
}

}  // namespace rocksync

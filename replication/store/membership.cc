#include "replication/store/membership.h"

#include <algorithm>
#include <string>
#include <utility>

#include "replication/store/identity_life.h"
#include "replication/store/index_key.h"
#include "replication/store/index_reader.h"
#include "replication/store/store.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Or else others were quicker to hand on a later reading, or life.
Status DoesNotGoOn() {
  return Status::TryAgain(
      "rocksync: the peer does not go on where what others have seen of it "
      "ended",
      "if this goes on it was rolled back, or a copy of it runs: export what "
      "it alone holds (`rocksync rescue`) and open it as a new replica");
}

}  // namespace

Membership::Membership(Store* store, Forgetting now,
                       std::function<void()> horizon_set)
    : store_(store),
      horizon_set_(std::move(horizon_set)),
      now_(std::move(now)),
      written_lives_(now_.lives) {
  SetOwnLife(&now_);
  ShowTerms();
}

void Membership::ShowTerms() {
  epoch_.store(now_.list.epoch, std::memory_order_release);
  purged_.store(now_.purged, std::memory_order_release);
  unproven_.store(now_.unproven, std::memory_order_release);
}

void Membership::SetOwnLife(Forgetting* next) const {
  const ReplicaIdentity me = store_->identity();
  rocksync::SetOwnLife(me.replica_id, LifeOf(me), next);
}

Forgetting Membership::Now() const {
  const std::lock_guard lock(now_mutex_);
  return now_;
}

Announcement Membership::Announce() const {
  // In this order: a reading from before a list would be taken for one that
  // covers what was handed on by members that the list no longer has.
  Announcement said;
  said.forgetting = Now();
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
  Forgetting next = now_;
  Found(*list, &next);
  return Install(std::move(next));
}

// Readings from now on are greater than this one and all before.
Status Membership::PassReading(uint64_t reading) {
  return store_->FollowClock(std::max(reading, store_->identity().clock) + 1);
}

bool Membership::HasData() const {
  if (!store_->adoption_progress().done) return true;
  IndexCursor cursor(store_->reader(), nullptr, store_->reader().horizon(),
                     IndexCursor::Order::kTotal);
  cursor.SeekToFirstEntry();
  return cursor.Valid() || !cursor.status().ok();
}

Status Membership::Learn(const Announcement& peer) {
  const std::lock_guard lock(mutex_);
  if (peer.forgetting.list.epoch <= now_.list.epoch) return Status::OK();
  if (store_->HoldsBack({peer.reading, 0})) {
    return Status::TryAgain(
        "rocksync: the clock of the member is too far ahead to join it",
        "set the clocks of both machines");
  }
  AllStripesGuard all(store_->locks());
  const Status status = PassReading(peer.reading);
  if (!status.ok()) return status;
  Forgetting next = now_;
  const MeetingVerdict verdict =
      Join(peer.forgetting, store_->identity().replica_id, HasData(), &next);
  if (verdict.meeting != Meeting::kAlike) {
    return Status::InvalidArgument("rocksync: " + verdict.why);
  }
  return Install(std::move(next));
}

SaidByBoth Membership::SaidWith(uint64_t peer_id,
                                const Incarnation& life) const {
  const std::lock_guard lock(mutex_);
  SaidByBoth said;
  said.theirs = sayings_.Of(peer_id, life);
  said.mine.promised = now_.promised;
  return said;
}

Status Membership::Agree(const Forgetting& mine, uint64_t peer_id,
                         const Incarnation& life, const Announcement& peer,
                         Terms* agreed) {
  const std::lock_guard lock(mutex_);
  const Said said = sayings_.Of(peer_id, life);
  const Forgetting heard = Take(peer, peer_id);
  if (WentBack(now_, peer_id, peer.reading, said) ||
      !GoesOn(now_, peer_id, life, heard)) {
    return DoesNotGoOn();
  }
  sayings_.Note(peer_id, life, peer);
  Forgetting next = now_;
  uint64_t two_lives = 0;
  *agreed =
      AgreeUpon(mine, heard, store_->identity().replica_id, &next, &two_lives);
  if (two_lives != 0) NoteTwoLives(two_lives);
  if (TermsOf(next) != TermsOf(now_) || HorizonOf(next) != HorizonOf(now_)) {
    return InstallWithStripes(std::move(next));
  }
  const Status status = TellsOfNewLives(next) ? Write(next, {}) : Status::OK();
  if (status.ok()) SetNow(std::move(next));
  return status;
}

void Membership::SetNow(Forgetting next) {
  const std::lock_guard lock(now_mutex_);
  now_ = std::move(next);
}

bool Membership::TellsOfNewLives(const Forgetting& next) const {
  return !std::equal(next.lives.begin(), next.lives.end(),
                     written_lives_.begin(), written_lives_.end(),
                     [](const Life& a, const Life& b) {
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
    if (!TakesFrom(sender.replica_id, sender.life, latest, &now_)) {
      return DoesNotGoOn();
    }
  }
  const std::optional<size_t> they = now_.list.Find(sender.replica_id);
  // Else whoever has the pairs after a crash might not know whose they are.
  if (!they || latest <= written_lives_[*they].clock) return Status::OK();
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  return Write(now_, at_once);
}

Forgetting Membership::Take(const Announcement& peer, uint64_t peer_id) const {
  return Heard(peer, peer_id,
               [this](uint64_t reading) { return store_->Trusted(reading); });
}

void Membership::NoteTwoLives(uint64_t replica_id) {
  if (two_lives_.exchange(replica_id) == replica_id) return;
  rocksdb::Log(rocksdb::InfoLogLevel::ERROR_LEVEL,
               store_->db()->GetDBOptions().info_log,
               "[rocksync] replica %s is known in two lives that do not follow "
               "one another: a copy of it runs, or an older state of its disk; "
               "nothing more is forgotten until one of the two is opened as a "
               "new replica, and a newer list is set",
               HexOf(replica_id).c_str());
}

Status Membership::Proved(const Announcement& mine, uint64_t peer_id,
                          const Announcement& peer) {
  const std::lock_guard lock(mutex_);
  if (now_.list.epoch == 0 || now_.list != mine.forgetting.list ||
      now_.list != peer.forgetting.list) {
    return Status::OK();
  }
  Forgetting next = now_;
  rocksync::Proved(store_->identity().replica_id, mine.reading, peer_id,
                   store_->Trusted(peer.reading), Take(peer, peer_id), &next);
  if (next != now_) {
    rocksdb::WriteOptions options;
    options.sync = next.vouched != now_.vouched;
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
  if (to <= now_.horizon) return false;
  const LeafDigests::Share share = store_->digests()->ForgottenBy(to);
  return WorthForgetting(share.tombstones, share.elements);
}

Status Membership::Advance() {
  const std::lock_guard lock(mutex_);
  return AdvanceLocked();
}

Status Membership::AdvanceLocked() {
  Forgetting next = now_;
  if (!rocksync::Advance(&next)) return Status::OK();
  return InstallWithStripes(std::move(next));
}

Status Membership::InstallWithStripes(Forgetting next) {
  AllStripesGuard all(store_->locks());
  return Install(std::move(next));
}

// Whoever applies a pair holds stripes and looks at the terms; whoever readies
// digests holds all of them and looks at the horizon.
Status Membership::Install(Forgetting next) {
  SetOwnLife(&next);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const Status status = Write(next, synced);
  if (!status.ok()) return status;
  if (next.list.epoch != now_.list.epoch) two_lives_ = 0;
  // What was swept up to the larger horizon is in the digests of a smaller one
  // from before.
  if (next.horizon < now_.horizon) store_->digests()->Distrust();
  const std::lock_guard lock(now_mutex_);
  now_ = std::move(next);
  ShowTerms();
  store_->SetHorizon(now_.horizon);
  horizon_set_();
  return status;
}

Status Membership::Write(const Forgetting& next,
                         const rocksdb::WriteOptions& options) {
  const Status status =
      store_->db()->Put(options, store_->reader().index(),
                        MetaKey(kForgettingRecord), Encode(next));
  if (status.ok()) written_lives_ = next.lives;
  return status;
}

}  // namespace rocksync

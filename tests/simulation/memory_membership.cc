#include "tests/simulation/memory_membership.h"

#include <algorithm>
#include <utility>

#include "replication/protocol/apply.h"

namespace rocksync {

MemoryMembership::MemoryMembership(
    MemoryStorage* storage, Life life, MemberFault fault,
    std::function<void(const Forgetting& next)> horizon_moves)
    : storage_(storage),
      life_(std::move(life)),
      fault_(fault),
      horizon_moves_(std::move(horizon_moves)) {
  Forgetting next = Now();
  SetOwnLife(id(), life_, &next);
  storage_->SetForgetting(std::move(next), /*sync=*/false);
}

absl::Status MemoryMembership::SetMembers(uint64_t epoch,
                                          const std::vector<uint64_t>& ids) {
  absl::StatusOr<MemberList> list =
      SucceedingList(Now().list, epoch, ids, id());
  if (!list.ok()) return list.status();
  if (fault_ == MemberFault::kTakeRemovedBack) {
    for (Member& member : list->members) member.since = 1;
  }
  PassReading(0);
  Forgetting next = Now();
  Found(*list, &next);
  KeepProofs(Now(), &next);
  Install(std::move(next));
  return absl::OkStatus();
}

absl::Status MemoryMembership::Learn(Announcement peer) {
  if (peer.forgetting.list.epoch <= Now().list.epoch) return absl::OkStatus();
  if (storage_->HoldsBack({peer.reading, 0})) {
    return absl::UnavailableError("the clock of the member is too far ahead");
  }
  PassReading(peer.reading);
  const bool old_data_count = fault_ != MemberFault::kLetOldDataIn;
  Forgetting next = Now();
  const MeetingVerdict verdict =
      Join(peer.forgetting, id(),
           old_data_count && !storage_->records().empty(), &next);
  if (verdict.meeting != Meeting::kAlike) {
    return absl::FailedPreconditionError(verdict.why);
  }
  KeepProofs(Now(), &next);
  if (fault_ == MemberFault::kNewcomerCounts && Now().list.epoch == 0) {
    next.holds.assign(next.holds.size(), peer.reading);
    next.vouched[*next.list.Find(id())] = next.promised = peer.reading;
  }
  Install(std::move(next));
  return absl::OkStatus();
}

void MemoryMembership::PassReading(uint64_t reading) {
  storage_->FollowClock(std::max(reading, storage_->clock()) + 1);
}

void MemoryMembership::BreakMarks(const Forgetting& said,
                                  const Forgetting& peer, Forgetting* next,
                                  Terms* agreed) const {
  if (fault_ == MemberFault::kGuardByHorizon) {
    next->purged = agreed->purged = next->horizon;
    next->reached = HorizonOf(*next);
  }
  if (fault_ != MemberFault::kLargerHorizon || said.list.epoch == 0 ||
      next->list != said.list) {
    return;
  }
  agreed->horizon = std::max(said.horizon, peer.horizon);
  if (next->horizon < agreed->horizon) {
    next->horizon = agreed->horizon;
    next->horizon_epoch = std::max(said.horizon_epoch, peer.horizon_epoch);
  }
}

void MemoryMembership::KeepProofs(const Forgetting& before,
                                  Forgetting* next) const {
  if (fault_ != MemberFault::kKeepProofs) return;
  for (size_t i = 0; i < next->list.members.size(); ++i) {
    const auto was = before.list.Find(next->list.members[i].replica_id);
    if (!was) continue;
    next->holds[i] = before.holds[*was];
    next->vouched[i] = before.vouched[*was];
  }
}

SaidByBoth MemoryMembership::SaidWith(uint64_t peer_id,
                                      const Incarnation& life) const {
  SaidByBoth said;
  said.theirs = sayings_.Of(peer_id, life);
  said.mine.promised = Now().promised;
  return said;
}

absl::Status MemoryMembership::Agree(const Forgetting& said, uint64_t peer_id,
                                     const Incarnation& life,
                                     const Announcement& peer, Terms* agreed) {
  const Forgetting heard = Take(peer, peer_id);
  if (WentBack(Now(), peer_id, peer.reading, sayings_.Of(peer_id, life)) ||
      (fault_ != MemberFault::kTakeTwinsForOne &&
       !GoesOn(Now(), peer_id, life, heard))) {
    return absl::UnavailableError("the peer is behind what others have seen");
  }
  sayings_.Note(peer_id, life, peer);
  Forgetting next = Now();
  uint64_t two_lives = 0;
  *agreed = AgreeUpon(said, heard, id(), &next, &two_lives);
  if (two_lives != 0) two_lives_ = two_lives;
  BreakMarks(said, heard, &next, agreed);
  if (TermsOf(next) != TermsOf(Now()) || HorizonOf(next) != HorizonOf(Now())) {
    Install(std::move(next));
  } else {
    storage_->SetForgetting(std::move(next), /*sync=*/false);
  }
  return absl::OkStatus();
}

absl::Status MemoryMembership::TakeFrom(uint64_t peer_id,
                                        const Incarnation& life,
                                        uint64_t latest) {
  if (fault_ == MemberFault::kTakeTwinsForOne) return absl::OkStatus();
  Forgetting next = Now();
  if (!TakesFrom(peer_id, life, latest, &next)) {
    return absl::UnavailableError("that life of the peer is over");
  }
  storage_->SetForgetting(std::move(next), /*sync=*/false);
  return absl::OkStatus();
}

uint64_t MemoryMembership::Trust(uint64_t reading) const {
  return Trusted(reading, storage_->options().wall_ms(),
                 storage_->options().max_ahead_ms);
}

Forgetting MemoryMembership::Take(const Announcement& peer,
                                  uint64_t peer_id) const {
  Forgetting heard =
      Heard(peer, peer_id, [this](uint64_t reading) { return Trust(reading); });
  if (fault_ == MemberFault::kTakeTwinsForOne) {
    heard.lives.assign(heard.lives.size(), {});
  }
  return heard;
}

void MemoryMembership::Proved(const Announcement& mine, uint64_t peer_id,
                              const Announcement& peer) {
  if (Now().list.epoch == 0 || Now().list != mine.forgetting.list ||
      Now().list != peer.forgetting.list) {
    return;
  }
  Forgetting next = Now();
  rocksync::Proved(id(), mine.reading, peer_id, Trust(peer.reading),
                   Take(peer, peer_id), &next);
  if (next != Now()) {
    const bool sync = next.vouched != Now().vouched;
    storage_->SetForgetting(std::move(next), sync);
  }
  AdvanceIfWorthIt();
}

void MemoryMembership::AdvanceIfWorthIt() {
  Forgetting next = Now();
  if (fault_ == MemberFault::kForgetLocally) {
    next.horizon = std::max(
        next.horizon, *std::min_element(next.holds.begin(), next.holds.end()));
    next.horizon_epoch = next.list.epoch;
  } else if (!Advance(&next)) {
    return;
  }
  uint64_t elements = 0;
  uint64_t tombstones = 0;
  for (const auto& [key, record] : storage_->records()) {
    if (!record.Counts(Now().horizon)) continue;
    ++elements;
    if (!record.Counts(next.horizon)) ++tombstones;
  }
  if (WorthForgetting(tombstones, elements)) Install(std::move(next));
}

void MemoryMembership::Install(Forgetting next) {
  SetOwnLife(id(), life_, &next);
  if (next.list.epoch != Now().list.epoch) two_lives_ = 0;
  horizon_moves_(next);
  storage_->SetForgetting(std::move(next), /*sync=*/true);
}

}  // namespace rocksync

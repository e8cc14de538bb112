#include "tests/simulation/memory_membership.h"

#include <algorithm>
#include <utility>

#include "replication/session/acceptance.h"

namespace rocksync {

MemoryMembership::MemoryMembership(
    MemoryStorage* storage, Incarnation incarnation, MemberFault fault,
    std::function<void(const GcState& next)> stable_time_moves)
    : storage_(storage),
      incarnation_(std::move(incarnation)),
      fault_(fault),
      stable_time_moves_(std::move(stable_time_moves)) {
  GcState next = Now();
  next.SetOwnIncarnation(id(), incarnation_);
  storage_->SetGcState(std::move(next), /*sync=*/false);
}

absl::Status MemoryMembership::SetMembers(uint64_t epoch,
                                          const std::vector<uint64_t>& ids) {
  GcState next = Now();
  const absl::Status set = next.SetMembers(epoch, ids, id());
  if (!set.ok()) return set;
  if (fault_ == MemberFault::kTakeRemovedBack) {
    for (Member& member : next.members) member.since = 1;
  }
  PassReading(0);
  KeepProofs(Now(), &next);
  Install(std::move(next));
  return absl::OkStatus();
}

absl::Status MemoryMembership::Learn(Announcement peer) {
  if (peer.gc.epoch <= Now().epoch) return absl::OkStatus();
  if (storage_->RejectIfTooFarAhead({peer.reading, 0})) {
    return absl::UnavailableError("the clock of the member is too far ahead");
  }
  PassReading(peer.reading);
  const bool old_data_count = fault_ != MemberFault::kLetOldDataIn;
  GcState next = Now();
  const PeerJudgement verdict = next.InstallList(
      peer.gc, id(), old_data_count && !storage_->records().empty());
  if (verdict.verdict != PeerVerdict::kSameList) {
    return absl::FailedPreconditionError(verdict.why);
  }
  KeepProofs(Now(), &next);
  if (fault_ == MemberFault::kNewMemberCounts && Now().epoch == 0) {
    for (Member& member : next.members) member.summary = peer.reading;
    next.Find(id())->acknowledged = next.max_acknowledged = peer.reading;
  }
  Install(std::move(next));
  return absl::OkStatus();
}

void MemoryMembership::PassReading(uint64_t reading) {
  storage_->FollowClock(std::max(reading, storage_->clock()) + 1);
}

void MemoryMembership::BreakMarks(const GcState& said, const GcState& peer,
                                  GcState* next, Terms* agreed) const {
  if (fault_ == MemberFault::kGuardByStableTime) {
    next->purged = agreed->purged = next->stable_time;
    next->reached = next->stable();
  }
  if (fault_ != MemberFault::kLargerStableTime || said.epoch == 0 ||
      !next->HasListOf(said)) {
    return;
  }
  agreed->stable_time = std::max(said.stable_time, peer.stable_time);
  if (next->stable_time < agreed->stable_time) {
    next->stable_time = agreed->stable_time;
    next->stable_epoch = std::max(said.stable_epoch, peer.stable_epoch);
  }
}

void MemoryMembership::KeepProofs(const GcState& before, GcState* next) const {
  if (fault_ != MemberFault::kKeepProofs) return;
  for (Member& member : next->members) {
    const Member* const was = before.Find(member.replica_id);
    if (was == nullptr) continue;
    member.summary = was->summary;
    member.acknowledged = was->acknowledged;
  }
}

ReportedByBoth MemoryMembership::SaidWith(
    uint64_t peer_id, const IncarnationId& incarnation) const {
  ReportedByBoth said;
  said.theirs = sayings_.Of(peer_id, incarnation);
  said.mine.max_acknowledged = Now().max_acknowledged;
  return said;
}

absl::Status MemoryMembership::Agree(const GcState& said, uint64_t peer_id,
                                     const IncarnationId& incarnation,
                                     const Announcement& peer, Terms* agreed) {
  const GcState heard = Take(peer, peer_id);
  if (Now().ReadingWentBack(peer_id, peer.reading,
                            sayings_.Of(peer_id, incarnation)) ||
      (fault_ != MemberFault::kTakeClonesForOne &&
       !Now().AcceptsIncarnation(peer_id, incarnation, heard))) {
    return absl::UnavailableError("the peer is behind what others have seen");
  }
  sayings_.Note(peer_id, incarnation, peer);
  GcState next = Now();
  uint64_t identity_conflict = 0;
  *agreed = next.AgreeOnTerms(said, heard, id(), &identity_conflict);
  if (identity_conflict != 0) identity_conflict_ = identity_conflict;
  BreakMarks(said, heard, &next, agreed);
  if (next.terms() != Now().terms() || next.stable() != Now().stable()) {
    Install(std::move(next));
  } else {
    storage_->SetGcState(std::move(next), /*sync=*/false);
  }
  return absl::OkStatus();
}

absl::Status MemoryMembership::RecordSender(uint64_t peer_id,
                                            const IncarnationId& incarnation,
                                            uint64_t latest) {
  if (fault_ == MemberFault::kTakeClonesForOne) return absl::OkStatus();
  GcState next = Now();
  if (!next.RecordSender(peer_id, incarnation, latest)) {
    return absl::UnavailableError("that incarnation of the peer is over");
  }
  storage_->SetGcState(std::move(next), /*sync=*/false);
  return absl::OkStatus();
}

uint64_t MemoryMembership::Trust(uint64_t reading) const {
  return Trusted(reading, storage_->options().wall_ms(),
                 storage_->options().max_ahead_ms);
}

GcState MemoryMembership::Take(const Announcement& peer,
                               uint64_t peer_id) const {
  GcState heard = peer.AsTrusted(
      peer_id, [this](uint64_t reading) { return Trust(reading); });
  if (fault_ == MemberFault::kTakeClonesForOne) {
    for (Member& member : heard.members) member.incarnation = {};
  }
  return heard;
}

void MemoryMembership::Proved(const Announcement& mine, uint64_t peer_id,
                              const Announcement& peer) {
  if (Now().epoch == 0 || !Now().HasListOf(mine.gc) ||
      !Now().HasListOf(peer.gc)) {
    return;
  }
  GcState next = Now();
  const bool acknowledges_more = next.RecordProof(
      id(), mine.reading, peer_id, Trust(peer.reading), Take(peer, peer_id));
  if (next != Now()) {
    storage_->SetGcState(std::move(next), /*sync=*/acknowledges_more);
  }
  AdvanceIfWorthIt();
}

void MemoryMembership::AdvanceIfWorthIt() {
  GcState next = Now();
  if (fault_ == MemberFault::kCollectLocally) {
    uint64_t least = UINT64_MAX;
    for (const Member& member : next.members) {
      least = std::min(least, member.summary);
    }
    next.stable_time = std::max(next.stable_time, least);
    next.stable_epoch = next.epoch;
  } else if (!next.AdvanceStableTime()) {
    return;
  }
  uint64_t elements = 0;
  uint64_t tombstones = 0;
  for (const auto& [key, record] : storage_->records()) {
    if (!record.Counts(Now().stable_time)) continue;
    ++elements;
    if (!record.Counts(next.stable_time)) ++tombstones;
  }
  if (WorthCollecting(tombstones, elements)) Install(std::move(next));
}

void MemoryMembership::Install(GcState next) {
  next.SetOwnIncarnation(id(), incarnation_);
  if (next.epoch != Now().epoch) identity_conflict_ = 0;
  stable_time_moves_(next);
  storage_->SetGcState(std::move(next), /*sync=*/true);
}

}  // namespace rocksync

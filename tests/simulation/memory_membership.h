// What a simulated replica knows of the members: the same steps in the same
// order as replication/store/upkeep/membership.h, over storage in memory. All
// that is decided is decided in replication/membership/tombstone_gc.h.

#ifndef ROCKSYNC_TESTS_SIMULATION_MEMORY_MEMBERSHIP_H_
#define ROCKSYNC_TESTS_SIMULATION_MEMORY_MEMBERSHIP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "replication/membership/announcement.h"
#include "replication/membership/tombstone_gc.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

// Faults planted in what a replica counts as known.
enum class MemberFault : uint8_t {
  kNone,
  kCollectLocally,     // the stable time is what this replica alone knows
  kNewMemberCounts,    // a new member acknowledges while bootstrapping
  kKeepProofs,         // a new list does not start knowledge anew
  kTakeRemovedBack,    // one removed in between counts as a member all along
  kLetOldDataIn,       // a new member's old data are not held against it
  kTakeClonesForOne,   // what is said of a third does not name its incarnation
  kGuardByStableTime,  // what is purged is known by the present stable time
                       // alone
  kLargerStableTime,   // of stable times of earlier lists the larger one counts
};

class MemoryMembership {
 public:
  // `storage` must outlive it. `incarnation`: in which the replica was opened.
  // `stable_time_moves` is called with what is going to be known, before it is.
  MemoryMembership(MemoryStorage* storage, Incarnation incarnation,
                   MemberFault fault,
                   std::function<void(const GcState& next)> stable_time_moves);

  const GcState& Now() const { return storage_->gc(); }
  uint64_t identity_conflict() const { return identity_conflict_; }
  Announcement Announce() const { return {storage_->clock(), Now()}; }

  absl::Status SetMembers(uint64_t epoch, const std::vector<uint64_t>& ids);
  absl::Status Learn(Announcement peer);
  ReportedByBoth SaidWith(uint64_t peer_id,
                          const IncarnationId& incarnation) const;
  absl::Status Agree(const GcState& said, uint64_t peer_id,
                     const IncarnationId& incarnation, const Announcement& peer,
                     Terms* agreed);
  absl::Status RecordSender(uint64_t peer_id, const IncarnationId& incarnation,
                            uint64_t latest);
  void Proved(const Announcement& mine, uint64_t peer_id,
              const Announcement& peer);

 private:
  uint64_t id() const { return storage_->options().replica_id; }
  void PassReading(uint64_t reading);
  uint64_t Trust(uint64_t reading) const;
  void KeepProofs(const GcState& before, GcState* next) const;
  void BreakMarks(const GcState& said, const GcState& peer, GcState* next,
                  Terms* agreed) const;
  GcState Take(const Announcement& peer, uint64_t peer_id) const;
  void AdvanceIfWorthIt();
  void Install(GcState next);

  MemoryStorage* const storage_;
  const Incarnation incarnation_;
  const MemberFault fault_;
  const std::function<void(const GcState&)> stable_time_moves_;
  Sayings sayings_;
  uint64_t identity_conflict_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_MEMORY_MEMBERSHIP_H_

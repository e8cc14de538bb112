// What a simulated replica knows of the members: the same steps in the same
// order as replication/store/membership.h, over storage in memory. All that is
// decided is decided in replication/protocol/forgetting.h.

#ifndef ROCKSYNC_TESTS_SIMULATION_MEMORY_MEMBERSHIP_H_
#define ROCKSYNC_TESTS_SIMULATION_MEMORY_MEMBERSHIP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "replication/protocol/forgetting.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

// Faults planted in what a replica counts as known.
enum class MemberFault : uint8_t {
  kNone,
  kForgetLocally,    // the horizon is what this replica alone knows
  kNewcomerCounts,   // a newcomer vouches before it is filled
  kKeepProofs,       // a new list does not start knowledge anew
  kTakeRemovedBack,  // who was removed in between counts as a member all along
  kLetOldDataIn,     // a newcomer's old data are not held against it
  kTakeTwinsForOne,  // what is said of a third does not name its life
  kGuardByHorizon,   // what is purged is known by the present horizon alone
  kLargerHorizon,    // of horizons of earlier lists the larger one counts
};

class MemoryMembership {
 public:
  // `storage` must outlive it. `life`: in which the replica was opened.
  // `horizon_moves` is called with what is going to be known, before it is.
  MemoryMembership(MemoryStorage* storage, Life life, MemberFault fault,
                   std::function<void(const Forgetting& next)> horizon_moves);

  const Forgetting& Now() const { return storage_->forgetting(); }
  uint64_t two_lives() const { return two_lives_; }
  Announcement Announce() const { return {storage_->clock(), Now()}; }

  absl::Status SetMembers(uint64_t epoch, const std::vector<uint64_t>& ids);
  absl::Status Learn(Announcement peer);
  SaidByBoth SaidWith(uint64_t peer_id, const Incarnation& life) const;
  absl::Status Agree(const Forgetting& said, uint64_t peer_id,
                     const Incarnation& life, const Announcement& peer,
                     Terms* agreed);
  absl::Status TakeFrom(uint64_t peer_id, const Incarnation& life,
                        uint64_t latest);
  void Proved(const Announcement& mine, uint64_t peer_id,
              const Announcement& peer);

 private:
  uint64_t id() const { return storage_->options().replica_id; }
  void PassReading(uint64_t reading);
  uint64_t Trust(uint64_t reading) const;
  void KeepProofs(const Forgetting& before, Forgetting* next) const;
  void BreakMarks(const Forgetting& said, const Forgetting& peer,
                  Forgetting* next, Terms* agreed) const;
  Forgetting Take(const Announcement& peer, uint64_t peer_id) const;
  void AdvanceIfWorthIt();
  void Install(Forgetting next);

  MemoryStorage* const storage_;
  const Life life_;
  const MemberFault fault_;
  const std::function<void(const Forgetting&)> horizon_moves_;
  Sayings sayings_;
  uint64_t two_lives_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_MEMORY_MEMBERSHIP_H_

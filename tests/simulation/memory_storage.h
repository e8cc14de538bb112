// A replica's storage in memory, for tests and the simulation: the same
// contract as the store on RocksDB, with an explicit line between what is
// synced and what a crash would lose.

#ifndef ROCKSYNC_TESTS_SIMULATION_MEMORY_STORAGE_H_
#define ROCKSYNC_TESTS_SIMULATION_MEMORY_STORAGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/session/storage_view.h"
#include "sketch/element/element.h"
#include "tests/simulation/record.h"

namespace rocksync {

// Faults planted to prove that the tests catch them.
enum class PlantedFault : uint8_t {
  kNone,
  kSkipTombstone,       // apply skips deletes that came from a peer
  kDropTombstone,       // a tombstone vanishes from this replica alone
  kDropIndexEntry,      // a write leaves no element behind
  kReinventVersion,     // an applied pair gets a fresh version
  kAcceptStaleVersion,  // apply does not compare versions
  kForgetLimit,         // versions far in the future are applied
  kSyncLies,            // Sync says it is durable and is not
  kOfferCorrupt,        // a value is offered as it is, whatever its hash
};

// Not thread-safe: tests have one thread. The lock rule holds trivially.
class MemoryStorage final : public StorageView {
 public:
  using Record = rocksync::Record;
  using Key = RecordKey;
  using Records = rocksync::Records;

  struct Options {
    uint64_t replica_id = 1;
    std::vector<std::string> families = {"default"};
    // The wall clock; versions and the bound on the future come from it.
    std::function<uint64_t()> wall_ms = [] { return uint64_t{1'000'000}; };
    uint64_t max_ahead_ms = 60'000;
    int leaf_bits = kLeafBits;
    bool sync_every_write = false;
    PlantedFault fault = PlantedFault::kNone;
  };

  // `hasher` must outlive it.
  MemoryStorage(const ElementHasher* hasher, Options options);

  // Local writes; each draws a version and returns it.
  Version Put(uint32_t family, std::string_view key, std::string_view value);
  Version Delete(uint32_t family, std::string_view key);
  // Deletes the live keys in [begin, end), one version for all of them, and
  // returns them.
  std::vector<Key> DeleteRange(uint32_t family, std::string_view begin,
                               std::string_view end);
  // A pair as it was before replication was turned on.
  void PutUnversioned(uint32_t family, std::string_view key,
                      std::string_view value);
  // Other content at the version that is there, as if a bit had flipped before
  // the value was hashed.
  void Forge(uint32_t family, std::string_view key, std::string_view value);

  // A copy of the disk, as a checkpoint or `cp -a` makes it: all that is here,
  // synced, its clock at the end of the lease.
  std::unique_ptr<MemoryStorage> Copy(Options options) const;

  const Options& options() const { return options_; }
  // The hybrid logical clock's last reading, as Version.time. No later
  // incarnation starts from less.
  uint64_t clock() const { return clock_; }
  // The clock reads no less from now on.
  void FollowClock(uint64_t reading);
  // The value of a live pair.
  std::optional<std::string> Get(uint32_t family, std::string_view key) const;
  // The pair of a key as it is now, as ReplicaView::ReadPair has it.
  absl::Status ReadPair(uint32_t family, std::string_view key, Pair* pair);
  const Records& records() const { return *current_; }
  std::shared_ptr<const Records> shared_records() const { return current_; }
  // What a crash would leave.
  const Records& synced_records() const { return synced_; }
  bool IsSynced(const Key& key) const { return unsynced_.count(key) == 0; }

  // Power fails: what was not synced is gone, from the pairs and the index
  // alike, and so is the clock's lead over the wall clock.
  void Crash();

  // What is known of the members; its stable time is the one of this storage.
  const GcState& gc() const { return gc_; }
  const GcState& synced_gc() const { return synced_gc_; }
  uint64_t stable_time() const { return gc_.stable_time; }
  Terms terms() const { return gc_.terms(); }
  void SetGcState(GcState gc, bool sync);
  // Takes collected tombstones out.
  void Sweep();

  // The next `count` calls of Apply fail with this status.
  void FailApply(absl::Status status, int count = 1);
  // The disk damages a record, bypassing rocksync.
  void Corrupt(const Key& key, Damage damage);
  // The value of this key is damaged.
  void Corrupt(uint32_t family, std::string_view key) {
    Corrupt({family, std::string(key)}, Damage::kValue);
  }
  // Compares all pairs with their entries; what disagrees is quarantined from
  // now on. How many.
  uint64_t Scrub();
  // No peer knows better than what is quarantined: pairs become unversioned,
  // entries without a pair are removed. Which pairs, and the versions they had.
  std::vector<std::pair<Key, Version>> ResolveQuarantined();
  bool HasQuarantined() const;
  // Counts up whenever something is quarantined.
  uint64_t quarantined_found() const { return quarantined_found_; }

  // TakeSnapshot answers Unavailable with this message; empty: no more.
  void SetIndexBuild(std::string message) { index_build_ = message; }
  // Called at the beginning of Apply: a local write that races it.
  void SetBeforeApply(std::function<void()> f) { before_apply_ = std::move(f); }
  uint64_t syncs() const { return syncs_; }

  // StorageView.
  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override;
  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override;
  uint32_t FamilyCount() const override;
  bool RejectIfTooFarAhead(const Version& version) const override;
  uint64_t PositionOf(uint32_t family, std::string_view key) const override;
  ElementHash HashOf(const Pair& pair) const override;
  absl::Status Sync() override;

 private:
  Version DrawVersion();
  Version Write(Pair pair);
  Pair Tombstone(uint32_t family, std::string_view key) const;
  void Store(const Pair& pair);
  ApplyOutcome ApplyOne(const Pair& pair);
  void MarkQuarantined(const Key& key, const Version& version);
  // For writing: snapshots keep what they have.
  Records& Changing();
  // The record of a key, as about to change.
  Record& Changing(const Key& key);
  void Erase(const Key& key);

  const ElementHasher* const hasher_;
  const Options options_;
  uint64_t clock_ = 0;  // the hybrid logical clock's last reading
  uint64_t lease_ = 0;  // durable: covers every version issued
  std::shared_ptr<Records> current_ = std::make_shared<Records>();
  Records synced_;
  std::set<Key> unsynced_;  // keys whose record differs from synced_
  GcState gc_;
  GcState synced_gc_;
  uint64_t quarantined_found_ = 0;
  std::string index_build_;
  absl::Status apply_failure_;
  int apply_failures_ = 0;
  std::function<void()> before_apply_;
  uint64_t syncs_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_MEMORY_STORAGE_H_

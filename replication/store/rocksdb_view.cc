#include "replication/store/rocksdb_view.h"

#include <mutex>
#include <utility>

#include "replication/protocol/pair_coding.h"
#include "replication/store/index_snapshot.h"
#include "replication/store/membership.h"
#include "replication/store/status.h"
#include "rocksync/limits.h"

namespace rocksync {
namespace {

static_assert(kMostKeyBytes == kMaxKeyBytes);

class RocksDBView final : public ReplicaView {
 public:
  explicit RocksDBView(Store* store)
      : store_(store), families_(&store->table()), terms_(store->terms()) {}

  void AgreeOn(const Terms& terms, uint64_t peer_id,
               const IncarnationId& peer_incarnation) override {
    const std::lock_guard lock(mutex_);
    terms_ = terms;
    sender_ = {peer_id, peer_incarnation};
  }
  bool stale() const override {
    return !StillHold(terms(), store_->terms()) ||
           &store_->table() != families_;
  }

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    absl::Status status = CheckFamilies();
    if (!status.ok()) return status;
    LeafDigests::Readied readied;
    status = store_->TakeSnapshot(cancelled, &readied);
    // Again: digests are of the families that there were when they were
    // readied.
    if (status.ok()) status = CheckFamilies();
    if (!status.ok()) return status;
    // Both sides must leave out the same.
    Terms now = store_->terms();
    now.stable_time = readied.snapshot->stable_time();
    if (!StillHold(terms(), now)) {
      return absl::UnavailableError(
          "the member list, or what is collected, has changed; set the"
          " connection up anew");
    }
    return NewIndexSnapshot(
        store_->reader(), *families_, std::move(readied),
        [store = store_](const std::string& index_key) {
          store->Reexamine(index_key);
        },
        [store = store_] { store->DistrustDigests(); });
  }

  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override {
    const absl::Status status = CheckFamilies();
    return status.ok() ? store_->Apply(pairs, *families_, sender_, terms(),
                                       cancelled, outcomes)
                       : status;
  }

  uint32_t FamilyCount() const override {
    return static_cast<uint32_t>(families_->families().size());
  }
  bool HoldsBack(const Version& version) const override {
    return store_->HoldsBack(version);
  }
  void NoteOversized(uint32_t family, std::string_view key) const override {
    store_->NoteOversized(families_->families()[family].name, key);
  }
  uint64_t PositionOf(uint32_t family, std::string_view key) const override {
    return store_->reader().hasher().Position(
        families_->families()[family].name, key);
  }
  ElementHash HashOf(const Pair& pair) const override {
    const std::string& family = families_->families()[pair.family].name;
    const ElementHasher& hasher = store_->reader().hasher();
    return pair.tombstone
               ? hasher.HashTombstone(family, pair.key, pair.version)
               : hasher.HashPair(family, pair.key, pair.version,
                                 hasher.HashValue(pair.version, pair.value));
  }

  absl::Status Sync() override {
    return ToAbsl(store_->db()->FlushWAL(/*sync=*/true));
  }

 private:
  Terms terms() const {
    const std::lock_guard lock(mutex_);
    return terms_;
  }
  absl::Status CheckFamilies() const {
    if (&store_->table() == families_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "a column family was created or dropped; set the connection up anew");
  }

  Store* const store_;
  const FamilyTable* const families_;  // kept by the store until it closes
  mutable std::mutex mutex_;
  Terms terms_;
  Sender sender_;
};

}  // namespace

std::unique_ptr<ReplicaView> NewRocksDBView(Store* store) {
  return std::make_unique<RocksDBView>(store);
}

}  // namespace rocksync

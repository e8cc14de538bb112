#include "replication/store/rocksdb_view.h"

#include <utility>

#include "replication/store/index_snapshot.h"
#include "replication/store/status.h"

namespace rocksync {
namespace {

class RocksDBView final : public StorageView {
 public:
  explicit RocksDBView(Store* store)
      : store_(store), families_(&store->table()) {}

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    absl::Status status = CheckFamilies();
    if (!status.ok()) return status;
    std::shared_ptr<const HeldSnapshot> snapshot;
    std::shared_ptr<const LeafDigests::Leaves> leaves;
    status = store_->TakeSnapshot(cancelled, &snapshot, &leaves);
    if (!status.ok()) return status;
    return NewIndexSnapshot(
        store_->reader(), *families_, std::move(snapshot), std::move(leaves),
        [store = store_](const Family& family, std::string_view key,
                         const Version& version) {
          store->MarkSuspect(family, key, version);
        });
  }

  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override {
    const absl::Status status = CheckFamilies();
    return status.ok() ? store_->Apply(pairs, cancelled, outcomes) : status;
  }

  uint32_t FamilyCount() const override {
    return static_cast<uint32_t>(families_->families().size());
  }
  bool HoldsBack(const Version& version) const override {
    return store_->HoldsBack(version);
  }
  uint64_t PositionOf(uint32_t family, std::string_view key) const override {
    return store_->reader().hasher().Position(
        families_->families()[family].name, key);
  }
  ElementHash HashOf(const Pair& pair) const override {
    const std::string& family = families_->families()[pair.family].name;
    const ElementHasher& hasher = store_->reader().hasher();
    return pair.tombstone ? hasher.HashTombstone(family, pair.key, pair.version)
                          : hasher.HashPair(family, pair.key, pair.version,
                                            HashValue(pair.value));
  }

  absl::Status Sync() override {
    return ToAbsl(store_->db()->FlushWAL(/*sync=*/true));
  }

 private:
  absl::Status CheckFamilies() const {
    if (&store_->table() == families_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "a column family was created or dropped; set the connection up anew");
  }

  Store* const store_;
  const FamilyTable* const families_;  // kept by the store until it closes
};

}  // namespace

std::unique_ptr<StorageView> NewRocksDBView(Store* store) {
  return std::make_unique<RocksDBView>(store);
}

}  // namespace rocksync

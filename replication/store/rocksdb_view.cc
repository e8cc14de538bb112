#include "replication/store/rocksdb_view.h"

#include <utility>

#include "replication/store/index_key.h"
#include "replication/store/status.h"

namespace rocksync {
namespace {

class RocksDBSnapshot final : public StorageSnapshot {
 public:
  RocksDBSnapshot(Store* store, const FamilyTable* families,
                  std::shared_ptr<const HeldSnapshot> snapshot,
                  std::shared_ptr<const LeafDigests::Leaves> leaves)
      : store_(store),
        families_(families),
        snapshot_(std::move(snapshot)),
        leaves_(std::move(leaves)) {}

  std::span<const Digest> LeafDigests() const override { return *leaves_; }

  absl::Status ScanLeaf(
      uint32_t leaf,
      const std::function<void(uint64_t position, const ElementHash&)>& visit)
      const override {
    IndexCursor* const cursor = ScanCursor();
    // No entry has position 0.
    const uint64_t first = uint64_t{leaf} << (64 - kLeafBits);
    for (cursor->Seek(first == 0 ? 1 : first);
         cursor->Valid() && LeafOf(cursor->key().position) == leaf;
         cursor->Next()) {
      if (cursor->Counts()) visit(cursor->key().position, cursor->Hash());
    }
    return ToAbsl(cursor->status());
  }

  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    IndexCursor* const cursor = LookupCursor();
    for (cursor->Seek(position); cursor->At(position); cursor->Next()) {
      if (cursor->Counts() && cursor->Hash() == hash) {
        return IndexEntry{
            cursor->family()->ordinal, std::string(cursor->key().key),
            cursor->entry().version, cursor->entry().tombstone, hash};
      }
    }
    if (!cursor->status().ok()) return ToAbsl(cursor->status());
    return absl::NotFoundError("no such element in the snapshot");
  }

  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t ordinal, std::string_view key) const override {
    if (ordinal >= families_->families().size()) {
      return absl::InvalidArgumentError("a key of an unknown family");
    }
    const Family& family = families_->families()[ordinal];
    const ElementHasher& hasher = store_->reader().hasher();
    StoredEntry entry;
    const rocksdb::Status status = store_->reader().Get(
        snapshot_->get(), {hasher.Position(family.name, key), family.id, key},
        &entry);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return ToAbsl(status);
    if (entry.suspect) return std::nullopt;
    return IndexEntry{ordinal, std::string(key), entry.version, entry.tombstone,
                      CompleteHash(hasher, family.name, key, entry)};
  }

  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    if (entry.family >= families_->families().size() || entry.tombstone) {
      return absl::InvalidArgumentError("no value to read");
    }
    const Family& family = families_->families()[entry.family];
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_->get();
    std::string value;
    const rocksdb::Status status =
        store_->db()->Get(options, family.handle(), entry.key, &value);
    if (!status.ok() && !status.IsNotFound()) return ToAbsl(status);
    if (status.ok() && store_->reader().hasher().HashPair(
                           family.name, entry.key, entry.version,
                           HashValue(value)) == entry.hash) {
      return value;
    }
    store_->MarkSuspect(family, entry.key, entry.version);
    return absl::DataLossError("the value of a key in family '" + family.name +
                               "' does not match its index entry");
  }

 private:
  // Made when first needed and reused, since making one costs more than a seek.
  IndexCursor* ScanCursor() const {
    if (scan_ == nullptr) {
      scan_ = std::make_unique<IndexCursor>(store_->reader(), snapshot_->get(),
                                            IndexCursor::Order::kTotal);
    }
    return scan_.get();
  }
  IndexCursor* LookupCursor() const {
    if (lookup_ == nullptr) {
      lookup_ =
          std::make_unique<IndexCursor>(store_->reader(), snapshot_->get(),
                                        IndexCursor::Order::kWithinPosition);
    }
    return lookup_.get();
  }

  Store* const store_;
  const FamilyTable* const families_;
  const std::shared_ptr<const HeldSnapshot> snapshot_;
  const std::shared_ptr<const LeafDigests::Leaves> leaves_;
  mutable std::unique_ptr<IndexCursor> scan_;
  mutable std::unique_ptr<IndexCursor> lookup_;
};

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
    return std::make_unique<RocksDBSnapshot>(
        store_, families_, std::move(snapshot), std::move(leaves));
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

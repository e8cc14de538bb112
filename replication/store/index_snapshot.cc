#include "replication/store/index_snapshot.h"

#include <utility>

#include "replication/store/index_key.h"
#include "replication/store/status.h"

namespace rocksync {
namespace {

class IndexSnapshot final : public StorageSnapshot {
 public:
  IndexSnapshot(const IndexReader& reader, const FamilyTable& families,
                std::shared_ptr<const HeldSnapshot> snapshot,
                std::shared_ptr<const LeafDigests::Leaves> leaves, RotFound rot)
      : reader_(reader),
        families_(families),
        snapshot_(std::move(snapshot)),
        leaves_(std::move(leaves)),
        rot_(std::move(rot)) {}

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
    if (ordinal >= families_.families().size()) {
      return absl::InvalidArgumentError("a key of an unknown family");
    }
    const Family& family = families_.families()[ordinal];
    const ElementHasher& hasher = reader_.hasher();
    StoredEntry entry;
    const rocksdb::Status status = reader_.Get(
        at(), horizon(), {hasher.Position(family.name, key), family.id, key},
        &entry);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return ToAbsl(status);
    if (entry.suspect) return std::nullopt;
    return IndexEntry{ordinal, std::string(key), entry.version, entry.tombstone,
                      CompleteHash(hasher, family.name, key, entry)};
  }

  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    if (entry.family >= families_.families().size() || entry.tombstone) {
      return absl::InvalidArgumentError("no value to read");
    }
    const Family& family = families_.families()[entry.family];
    rocksdb::ReadOptions options;
    options.snapshot = at();
    std::string value;
    const rocksdb::Status status =
        reader_.db()->Get(options, family.handle(), entry.key, &value);
    if (!status.ok() && !status.IsNotFound()) return ToAbsl(status);
    if (status.ok() &&
        reader_.hasher().HashPair(family.name, entry.key, entry.version,
                                  HashValue(value)) == entry.hash) {
      return value;
    }
    if (rot_ != nullptr) rot_(family, entry.key, entry.version);
    return absl::DataLossError("the value of a key in family '" + family.name +
                               "' does not match its index entry");
  }

 private:
  const rocksdb::Snapshot* at() const {
    return snapshot_ == nullptr ? nullptr : snapshot_->get();
  }
  uint64_t horizon() const {
    return snapshot_ == nullptr ? reader_.horizon() : snapshot_->horizon();
  }
  // Made when first needed and reused, since making one costs more than a seek.
  IndexCursor* ScanCursor() const {
    if (scan_ == nullptr) {
      scan_ = std::make_unique<IndexCursor>(reader_, at(), horizon(),
                                            IndexCursor::Order::kTotal);
    }
    return scan_.get();
  }
  IndexCursor* LookupCursor() const {
    if (lookup_ == nullptr) {
      lookup_ = std::make_unique<IndexCursor>(
          reader_, at(), horizon(), IndexCursor::Order::kWithinPosition);
    }
    return lookup_.get();
  }

  const IndexReader& reader_;
  const FamilyTable& families_;
  const std::shared_ptr<const HeldSnapshot> snapshot_;
  const std::shared_ptr<const LeafDigests::Leaves> leaves_;
  const RotFound rot_;
  mutable std::unique_ptr<IndexCursor> scan_;
  mutable std::unique_ptr<IndexCursor> lookup_;
};

}  // namespace

std::unique_ptr<StorageSnapshot> NewIndexSnapshot(
    const IndexReader& reader, const FamilyTable& families,
    std::shared_ptr<const HeldSnapshot> snapshot,
    std::shared_ptr<const LeafDigests::Leaves> leaves, RotFound rot) {
  return std::make_unique<IndexSnapshot>(reader, families, std::move(snapshot),
                                         std::move(leaves), std::move(rot));
}

}  // namespace rocksync

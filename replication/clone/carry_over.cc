#include "replication/clone/carry_over.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/session/conflict.h"

namespace rocksync {
namespace {

constexpr size_t kMaxBatchPairs = 4096;
constexpr size_t kMaxBatchBytes = size_t{1} << 20;

class Carrier {
 public:
  Carrier(StorageView* from, StorageView* to,
          const std::function<bool()>& cancelled, uint64_t* carried)
      : from_(from), to_(to), cancelled_(cancelled), carried_(carried) {}

  absl::Status Run() {
    absl::Status status = TakeSnapshots();
    if (!status.ok()) return status;
    const std::span<const Digest> theirs = to_snapshot_->LeafDigests();
    const std::span<const Digest> ours = from_snapshot_->LeafDigests();
    for (uint32_t leaf = 0; leaf < ours.size(); ++leaf) {
      if (ours[leaf] == theirs[leaf]) continue;
      if (cancelled_ && cancelled_()) {
        return absl::CancelledError("the resync was cancelled");
      }
      status = CarryLeaf(leaf);
      if (!status.ok()) return status;
    }
    return Flush();
  }

 private:
  absl::Status TakeSnapshots() {
    auto from = from_->TakeSnapshot(cancelled_);
    if (!from.ok()) return from.status();
    from_snapshot_ = std::move(*from);
    if (const uint64_t left_out = from_snapshot_->LeftOut(); left_out > 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the replica has ", left_out,
          " quarantined pairs, which a resync would drop; let sessions with "
          "peers repair or resolve them first"));
    }
    auto to = to_->TakeSnapshot(cancelled_);
    if (!to.ok()) return to.status();
    to_snapshot_ = std::move(*to);
    if (from_snapshot_->LeafDigests().size() !=
        to_snapshot_->LeafDigests().size()) {
      return absl::InternalError("the two are cut into leaves differently");
    }
    return absl::OkStatus();
  }

  absl::Status CarryLeaf(uint32_t leaf) {
    std::vector<ElementHash> there;
    absl::Status status = to_snapshot_->ScanLeaf(
        leaf,
        [&](uint64_t, const ElementHash& hash) { there.push_back(hash); });
    if (!status.ok()) return status;
    std::sort(there.begin(), there.end());
    std::vector<PlacedElement> lacking;
    status = from_snapshot_->ScanLeaf(
        leaf, [&](uint64_t position, const ElementHash& hash) {
          if (!std::binary_search(there.begin(), there.end(), hash)) {
            lacking.push_back({position, hash});
          }
        });
    for (const PlacedElement& one : lacking) {
      if (status.ok()) status = Carry(one);
    }
    return status;
  }

  absl::Status Carry(const PlacedElement& element) {
    absl::StatusOr<IndexEntry> entry =
        from_snapshot_->FindElement(element.position, element.hash);
    if (!entry.ok()) return entry.status();
    const auto known = to_snapshot_->FindKey(entry->family, entry->key);
    if (!known.ok()) return known.status();
    if (known->has_value() &&
        CompareVersions(entry->version, (*known)->version) ==
            VersionOrder::kOlder) {
      return absl::OkStatus();
    }
    Pair pair{entry->family,
              std::move(entry->key),
              entry->version,
              entry->tombstone,
              {}};
    if (!pair.tombstone) {
      entry->key = pair.key;
      absl::StatusOr<std::string> value = from_snapshot_->ReadValue(*entry);
      if (!value.ok()) return value.status();
      pair.value = *std::move(value);
    }
    batch_bytes_ += pair.key.size() + pair.value.size();
    batch_.push_back(std::move(pair));
    return batch_.size() >= kMaxBatchPairs || batch_bytes_ >= kMaxBatchBytes
               ? Flush()
               : absl::OkStatus();
  }

  absl::Status Flush() {
    if (batch_.empty()) return absl::OkStatus();
    const absl::Status status = to_->Apply(batch_, cancelled_, &outcomes_);
    if (!status.ok()) return status;
    for (const ApplyOutcome outcome : outcomes_) {
      switch (outcome) {
        case ApplyOutcome::kApplied:
          ++*carried_;
          break;
        case ApplyOutcome::kSuperseded:
          break;
        case ApplyOutcome::kHeldBack:
          return absl::UnavailableError(
              "a pair of the replica has a version too far in the future; set "
              "the clock of this machine right");
        case ApplyOutcome::kDeferred:
          return absl::UnavailableError(
              "a pair of the copy does not read; resync from another replica");
      }
    }
    batch_.clear();
    batch_bytes_ = 0;
    return status;
  }

  StorageView* const from_;
  StorageView* const to_;
  const std::function<bool()>& cancelled_;
  uint64_t* const carried_;
  std::unique_ptr<StorageSnapshot> from_snapshot_;
  std::unique_ptr<StorageSnapshot> to_snapshot_;
  std::vector<Pair> batch_;
  size_t batch_bytes_ = 0;
  std::vector<ApplyOutcome> outcomes_;
};

}  // namespace

absl::Status CarryOver(StorageView* from, StorageView* to,
                       const std::function<bool()>& cancelled,
                       uint64_t* carried) {
  return Carrier(from, to, cancelled, carried).Run();
}

}  // namespace rocksync

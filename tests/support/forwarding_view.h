// A storage view, and a snapshot, that hand every call on to another one: what
// those that watch or fail a few calls build on.

#ifndef ROCKSYNC_TESTS_SUPPORT_FORWARDING_VIEW_H_
#define ROCKSYNC_TESTS_SUPPORT_FORWARDING_VIEW_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/session/storage_view.h"

namespace rocksync {

// Many elements and values are asked for one by one, so that whoever overrides
// those calls sees each.
class ForwardingSnapshot : public StorageSnapshot {
 public:
  explicit ForwardingSnapshot(std::unique_ptr<StorageSnapshot> snapshot)
      : snapshot_(std::move(snapshot)) {}

  std::span<const Digest> LeafDigests() const override {
    return snapshot_->LeafDigests();
  }
  absl::Status CheckHolds() const override { return snapshot_->CheckHolds(); }
  void DigestsDisagree() const override { snapshot_->DigestsDisagree(); }
  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override {
    return snapshot_->ScanPositions(first, last, visit);
  }
  uint64_t LeftOut() const override { return snapshot_->LeftOut(); }
  absl::StatusOr<bool> LeavesOut(uint32_t family,
                                 std::string_view key) const override {
    return snapshot_->LeavesOut(family, key);
  }
  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    return snapshot_->FindElement(position, hash);
  }
  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override {
    return snapshot_->FindKey(family, key);
  }
  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    return snapshot_->ReadValue(entry);
  }

 protected:
  const StorageSnapshot& snapshot() const { return *snapshot_; }

 private:
  const std::unique_ptr<StorageSnapshot> snapshot_;
};

// As thread-safe as the view behind it.
class ForwardingView : public StorageView {
 public:
  // `view` must outlive it.
  explicit ForwardingView(StorageView* view) : view_(view) {}

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    return view_->TakeSnapshot(cancelled);
  }
  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override {
    return view_->Apply(pairs, cancelled, outcomes);
  }
  uint32_t FamilyCount() const override { return view_->FamilyCount(); }
  bool RejectIfTooFarAhead(const Version& version) const override {
    return view_->RejectIfTooFarAhead(version);
  }
  void NoteOversized(uint32_t family, std::string_view key) const override {
    view_->NoteOversized(family, key);
  }
  uint64_t PositionOf(uint32_t family, std::string_view key) const override {
    return view_->PositionOf(family, key);
  }
  ElementHash HashOf(const Pair& pair) const override {
    return view_->HashOf(pair);
  }
  absl::Status Sync() override { return view_->Sync(); }

 private:
  StorageView* const view_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_FORWARDING_VIEW_H_

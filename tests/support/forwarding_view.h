// A storage view that hands every call on to another one: what views that
// watch or fail a few calls build on.

#ifndef ROCKSYNC_TESTS_SUPPORT_FORWARDING_VIEW_H_
#define ROCKSYNC_TESTS_SUPPORT_FORWARDING_VIEW_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replication/session/storage_view.h"

namespace rocksync {

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
  bool HoldsBack(const Version& version) const override {
    return view_->HoldsBack(version);
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

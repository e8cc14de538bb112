// A replica's storage as one connection sees it: by the member list and the
// stable time agreed upon there, as RocksDBView has it. Remembers what its
// snapshot held and shows what is applied, for the checks.

#ifndef ROCKSYNC_TESTS_SIMULATION_RECORDING_VIEW_H_
#define ROCKSYNC_TESTS_SIMULATION_RECORDING_VIEW_H_

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/simulation/memory_storage.h"
#include "tests/support/forwarding_view.h"

namespace rocksync {

class RecordingView final : public ForwardingView {
 public:
  // Planted.
  struct Faults {
    bool apply_by_any_terms = false;
    bool ship_unsynced = false;
  };
  // `storage` must outlive it.
  RecordingView(MemoryStorage* storage, const Terms& terms,
                const Faults& faults)
      : ForwardingView(storage),
        storage_(storage),
        terms_(terms),
        faults_(faults) {}

  // What the storage held when the last snapshot was taken; null: none was.
  const Records* snapshot() const { return snapshot_.get(); }
  uint64_t stable_time() const { return terms_.stable_time; }
  // Whether pairs are taken from the peer at all; asked before each Apply.
  void set_before_apply(std::function<absl::Status(std::span<const Pair>)> f) {
    before_apply_ = std::move(f);
  }
  void set_on_apply(std::function<void(const Pair&)> f) {
    on_apply_ = std::move(f);
  }

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    if (!terms_.StillHold(storage_->terms())) return Changed();
    snapshot_ = storage_->shared_records();
    return ForwardingView::TakeSnapshot(cancelled);
  }
  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override {
    if (!faults_.apply_by_any_terms && !terms_.StillHold(storage_->terms())) {
      return Changed();
    }
    absl::Status status = before_apply_(pairs);
    if (status.ok()) {
      status = ForwardingView::Apply(pairs, cancelled, outcomes);
    }
    for (size_t i = 0; status.ok() && i < pairs.size(); ++i) {
      if ((*outcomes)[i] == ApplyOutcome::kApplied) on_apply_(pairs[i]);
    }
    return status;
  }
  // With the fault, what would have been synced before the first pair is only
  // before a proof.
  absl::Status Sync() override {
    if (faults_.ship_unsynced && !owes_sync_) {
      owes_sync_ = true;
      return absl::OkStatus();
    }
    return ForwardingView::Sync();
  }
  void SyncBeforeProof() {
    if (owes_sync_) ForwardingView::Sync().IgnoreError();
  }

 private:
  static absl::Status Changed() {
    return absl::UnavailableError(
        "the member list or the stable time has changed");
  }

  MemoryStorage* const storage_;
  const Terms terms_;
  const Faults faults_;
  bool owes_sync_ = false;
  std::shared_ptr<const Records> snapshot_;
  std::function<absl::Status(std::span<const Pair>)> before_apply_ =
      [](std::span<const Pair>) { return absl::OkStatus(); };
  std::function<void(const Pair&)> on_apply_ = [](const Pair&) {};
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_RECORDING_VIEW_H_

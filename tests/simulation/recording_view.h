// A storage view that remembers what its snapshot held and shows what is
// applied, for the checks.

#ifndef ROCKSYNC_TESTS_SIMULATION_RECORDING_VIEW_H_
#define ROCKSYNC_TESTS_SIMULATION_RECORDING_VIEW_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "replication/protocol/forwarding_view.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

class RecordingView final : public ForwardingView {
 public:
  // `storage` must outlive it.
  explicit RecordingView(MemoryStorage* storage)
      : ForwardingView(storage), storage_(storage) {}

  // What the storage held when the last snapshot was taken.
  const MemoryStorage::Records& snapshot() const { return snapshot_; }
  void set_on_apply(std::function<void(const Pair&)> f) {
    on_apply_ = std::move(f);
  }

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    snapshot_ = storage_->records();
    return ForwardingView::TakeSnapshot(cancelled);
  }
  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override {
    const absl::Status status =
        ForwardingView::Apply(pairs, cancelled, outcomes);
    for (size_t i = 0; status.ok() && i < pairs.size(); ++i) {
      if ((*outcomes)[i] == ApplyOutcome::kApplied) on_apply_(pairs[i]);
    }
    return status;
  }

 private:
  MemoryStorage* const storage_;
  MemoryStorage::Records snapshot_;
  std::function<void(const Pair&)> on_apply_ = [](const Pair&) {};
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_RECORDING_VIEW_H_

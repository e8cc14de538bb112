// A replica of a workload as a session sees it: one pair an element.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_WORKLOAD_STORAGE_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_WORKLOAD_STORAGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replication/session/storage_view.h"
#include "sketch/element/element.h"
#include "tests/bench/reconcile/workload.h"

namespace rocksync::bench {

// Keys are the numbers of elements, 8 bytes; values are 100 bytes. The replica
// must outlive it and gains what is applied. Not thread-safe.
class WorkloadStorage final : public StorageView {
 public:
  // `elements`: by number.
  WorkloadStorage(const std::vector<ElementHash>* elements, Replica* replica)
      : elements_(elements), replica_(replica) {}

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override;
  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override;
  uint32_t FamilyCount() const override { return 1; }
  bool RejectIfTooFarAhead(const Version& version) const override;
  uint64_t PositionOf(uint32_t family, std::string_view key) const override;
  ElementHash HashOf(const Pair& pair) const override;
  absl::Status Sync() override { return absl::OkStatus(); }

 private:
  const std::vector<ElementHash>* const elements_;
  Replica* const replica_;
};

// The elements of a workload by number.
std::vector<ElementHash> ElementsByNumber(const Workload& workload);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_WORKLOAD_STORAGE_H_

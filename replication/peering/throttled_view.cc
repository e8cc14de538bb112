#include "replication/peering/throttled_view.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "replication/peering/forwarding_view.h"

namespace rocksync {
namespace {

constexpr std::chrono::milliseconds kStopPoll{50};

class Throttle {
 public:
  Throttle(TokenBucket* reads, std::function<bool()> stopped)
      : reads_(reads), stopped_(std::move(stopped)) {}

  void Pay(uint64_t reads) const {
    const auto start = TokenBucket::Clock::now();
    const auto until = start + reads_->Charge(reads, start);
    for (auto now = start; now < until && !stopped_();
         now = TokenBucket::Clock::now()) {
      std::this_thread::sleep_for(
          std::min<TokenBucket::Clock::duration>(until - now, kStopPoll));
    }
  }

 private:
  TokenBucket* const reads_;
  const std::function<bool()> stopped_;
};

class ThrottledSnapshot : public StorageSnapshot {
 public:
  ThrottledSnapshot(std::unique_ptr<StorageSnapshot> snapshot,
                    const Throttle* throttle)
      : snapshot_(std::move(snapshot)), throttle_(throttle) {}

  std::span<const Digest> LeafDigests() const override {
    return snapshot_->LeafDigests();
  }

  absl::Status ScanLeaf(uint32_t leaf,
                        const std::function<void(uint64_t, const ElementHash&)>&
                            visit) const override {
    uint64_t scanned = 0;
    absl::Status status = snapshot_->ScanLeaf(
        leaf, [&](uint64_t position, const ElementHash& hash) {
          ++scanned;
          visit(position, hash);
        });
    throttle_->Pay(scanned);
    return status;
  }

  void DigestsDisagree() const override { snapshot_->DigestsDisagree(); }

  uint64_t LeftOut() const override { return snapshot_->LeftOut(); }

  absl::StatusOr<bool> LeavesOut(uint32_t family,
                                 std::string_view key) const override {
    throttle_->Pay(1);
    return snapshot_->LeavesOut(family, key);
  }

  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    throttle_->Pay(1);
    return snapshot_->FindElement(position, hash);
  }

  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override {
    throttle_->Pay(1);
    return snapshot_->FindKey(family, key);
  }

  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    throttle_->Pay(1);
    return snapshot_->ReadValue(entry);
  }

 private:
  const std::unique_ptr<StorageSnapshot> snapshot_;
  const Throttle* const throttle_;
};

class ThrottledView final : public ForwardingView {
 public:
  ThrottledView(std::unique_ptr<StorageView> view, Throttle throttle)
      : ForwardingView(view.get()),
        view_(std::move(view)),
        throttle_(std::move(throttle)) {}

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    auto snapshot = view_->TakeSnapshot(cancelled);
    if (!snapshot.ok()) return snapshot.status();
    return std::make_unique<ThrottledSnapshot>(*std::move(snapshot),
                                               &throttle_);
  }

 private:
  const std::unique_ptr<StorageView> view_;
  const Throttle throttle_;
};

}  // namespace

std::unique_ptr<StorageView> NewThrottledView(std::unique_ptr<StorageView> view,
                                              TokenBucket* reads,
                                              std::function<bool()> stopped) {
  return std::make_unique<ThrottledView>(std::move(view),
                                         Throttle(reads, std::move(stopped)));
}

}  // namespace rocksync

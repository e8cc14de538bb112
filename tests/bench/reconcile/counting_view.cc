#include "tests/bench/reconcile/counting_view.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "replication/store/store_access.h"

namespace rocksync::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Snapshots that count what is read of the index.
class CountingSnapshot final : public ForwardingSnapshot {
 public:
  CountingSnapshot(std::unique_ptr<StorageSnapshot> snapshot, uint64_t* read)
      : ForwardingSnapshot(std::move(snapshot)), read_(read) {}
  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override {
    return ForwardingSnapshot::ScanPositions(
        first, last, [&](uint64_t position, const ElementHash& hash) {
          ++*read_;
          visit(position, hash);
        });
  }
  absl::StatusOr<bool> LeavesOut(uint32_t family,
                                 std::string_view key) const override {
    ++*read_;
    return ForwardingSnapshot::LeavesOut(family, key);
  }
  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    ++*read_;
    return ForwardingSnapshot::FindElement(position, hash);
  }
  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override {
    ++*read_;
    return ForwardingSnapshot::FindKey(family, key);
  }
  // As the snapshot does it, which is faster than one by one. Not counted:
  // entries that it steps over between elements that lie close together.
  std::vector<absl::StatusOr<IndexEntry>> FindElements(
      std::span<const PlacedElement> elements, size_t max_bytes,
      const std::function<bool()>& cancelled) const override {
    auto found = snapshot().FindElements(elements, max_bytes, cancelled);
    *read_ += found.size();
    return found;
  }
  std::unique_ptr<ValueReader> NewValueReader(size_t values) const override {
    return snapshot().NewValueReader(values);
  }
  absl::Status CheckEntry(const IndexEntry& entry) const override {
    return snapshot().CheckEntry(entry);
  }

 private:
  uint64_t* const read_;
};

}  // namespace

CountingView::CountingView(ReplicatedDB* db)
    : CountingView(db, StoreAccess::NewView(db)) {}

absl::StatusOr<std::unique_ptr<StorageSnapshot>> CountingView::TakeSnapshot(
    const std::function<bool()>& cancelled) {
  const uint64_t before = DigestReads();
  const Clock::time_point start = Clock::now();
  absl::StatusOr<std::unique_ptr<StorageSnapshot>> snapshot =
      view_->TakeSnapshot(cancelled);
  snapshot_ms_ +=
      std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  digest_reads_ += DigestReads() - before;
  if (!snapshot.ok()) return snapshot.status();
  return std::make_unique<CountingSnapshot>(*std::move(snapshot), &read_);
}

uint64_t CountingView::DigestReads() const {
  return db_->GetIndexStats().digest_entries_read;
}

}  // namespace rocksync::bench

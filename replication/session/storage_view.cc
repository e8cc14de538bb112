#include "replication/session/storage_view.h"

#include <bit>

namespace rocksync {

absl::Status StorageSnapshot::ScanLeaf(uint32_t leaf,
                                       const Visit& visit) const {
  const int bits = std::countr_zero(LeafDigests().size());
  if (bits == 0) return ScanPositions(0, ~uint64_t{0}, visit);
  const uint64_t first = uint64_t{leaf} << (64 - bits);
  return ScanPositions(first, first | ~uint64_t{0} >> bits, visit);
}

namespace {

class OneByOne final : public StorageSnapshot::ValueReader {
 public:
  explicit OneByOne(const StorageSnapshot* snapshot) : snapshot_(snapshot) {}
  absl::StatusOr<std::string> Read(const IndexEntry& entry) override {
    return snapshot_->ReadValue(entry);
  }

 private:
  const StorageSnapshot* const snapshot_;
};

}  // namespace

std::vector<absl::StatusOr<IndexEntry>> StorageSnapshot::FindElements(
    std::span<const PlacedElement> elements, size_t max_bytes,
    const std::function<bool()>& cancelled) const {
  std::vector<absl::StatusOr<IndexEntry>> entries;
  entries.reserve(elements.size());
  size_t bytes = 0;
  for (const PlacedElement& element : elements) {
    if (bytes > max_bytes || (cancelled && cancelled())) break;
    entries.push_back(FindElement(element.position, element.hash));
    if (entries.back().ok()) bytes += entries.back()->key.size();
  }
  return entries;
}

std::unique_ptr<StorageSnapshot::ValueReader> StorageSnapshot::NewValueReader(
    size_t /*values*/) const {
  return std::make_unique<OneByOne>(this);
}

}  // namespace rocksync

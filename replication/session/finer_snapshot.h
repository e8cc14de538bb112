// A snapshot in finer leaves: a partition by more leading bits of a position
// than the storage keeps digests of. Their digests are made by reading the
// whole index once.

#ifndef ROCKSYNC_REPLICATION_SESSION_FINER_SNAPSHOT_H_
#define ROCKSYNC_REPLICATION_SESSION_FINER_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session/storage_view.h"
#include "sketch/element/digest.h"

namespace rocksync {

class FinerSnapshot final : public StorageSnapshot {
 public:
  // Reads all elements of `coarse`, which must outlive this. `bits` is more
  // than its leaves have, and at most kMaxFinerBits (finer_leaves.h). Takes 24
  // bytes a leaf. Returns Cancelled if `cancelled` turns true, or the error of
  // reading.
  static absl::StatusOr<std::unique_ptr<FinerSnapshot>> Make(
      const StorageSnapshot& coarse, int bits,
      const std::function<bool()>& cancelled);

  std::span<const Digest> LeafDigests() const override { return digests_; }
  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override {
    return coarse_.ScanPositions(first, last, visit);
  }
  absl::Status CheckHolds() const override { return coarse_.CheckHolds(); }
  void DigestsDisagree() const override { coarse_.DigestsDisagree(); }
  uint64_t LeftOut() const override { return coarse_.LeftOut(); }
  absl::StatusOr<bool> LeavesOut(uint32_t family,
                                 std::string_view key) const override {
    return coarse_.LeavesOut(family, key);
  }
  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    return coarse_.FindElement(position, hash);
  }
  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override {
    return coarse_.FindKey(family, key);
  }
  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    return coarse_.ReadValue(entry);
  }
  absl::Status CheckEntry(const IndexEntry& entry) const override {
    return coarse_.CheckEntry(entry);
  }
  std::vector<absl::StatusOr<IndexEntry>> FindElements(
      std::span<const PlacedElement> elements, size_t max_bytes,
      const std::function<bool()>& cancelled) const override {
    return coarse_.FindElements(elements, max_bytes, cancelled);
  }
  std::unique_ptr<ValueReader> NewValueReader(size_t values) const override {
    return coarse_.NewValueReader(values);
  }

 private:
  FinerSnapshot(const StorageSnapshot& coarse, int bits)
      : coarse_(coarse), digests_(size_t{1} << bits) {}

  const StorageSnapshot& coarse_;
  std::vector<Digest> digests_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_FINER_SNAPSHOT_H_

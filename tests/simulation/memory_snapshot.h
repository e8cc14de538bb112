// A snapshot of a storage in memory. It shares the records with the storage,
// which copies them before it changes any while a snapshot lives.

#ifndef ROCKSYNC_TESTS_SIMULATION_MEMORY_SNAPSHOT_H_
#define ROCKSYNC_TESTS_SIMULATION_MEMORY_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replication/session/storage_view.h"
#include "tests/simulation/record.h"

namespace rocksync {

class MemorySnapshot final : public StorageSnapshot {
 public:
  // Called when a pair turns out not to be what its entry says; empty: it is
  // taken for good.
  using CorruptionFound = std::function<void(const RecordKey&, const Version&)>;

  // Of the elements by this stable time, in 2^leaf_bits leaves.
  MemorySnapshot(std::shared_ptr<const Records> records, uint64_t stable_time,
                 int leaf_bits, CorruptionFound corruption_found);
  ~MemorySnapshot() override;

  std::span<const Digest> LeafDigests() const override { return digests_; }
  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override;
  uint64_t LeftOut() const override { return left_out_; }
  absl::StatusOr<bool> LeavesOut(uint32_t family,
                                 std::string_view key) const override;
  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override;
  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override;
  absl::StatusOr<std::string> ReadValue(const IndexEntry& entry) const override;

 private:
  struct Entry {
    uint64_t position;
    const RecordKey* key;
    const Record* record;
  };
  std::vector<Entry>::const_iterator From(uint64_t position) const;

  const std::shared_ptr<const Records> records_;
  const uint64_t stable_time_;
  const int leaf_bits_;
  const CorruptionFound corruption_found_;
  std::vector<Digest> digests_;
  uint64_t left_out_ = 0;
  std::vector<Entry> order_;  // of elements, as the index has them
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_MEMORY_SNAPSHOT_H_

// The storage that a session needs: a consistent snapshot to read, and a place
// to apply pairs. The RocksDB store implements it, and so does the simulation
// in memory.

#ifndef ROCKSYNC_REPLICATION_SESSION_STORAGE_VIEW_H_
#define ROCKSYNC_REPLICATION_SESSION_STORAGE_VIEW_H_

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
#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// Positions (ElementHasher::Position) are partitioned into 2^16 leaves by their
// leading 16 bits, whatever the size of the database, so the digests of all
// leaves take 1.5 MiB. Digests of coarser partitions are sums of those of
// leaves.
inline constexpr int kLeafBits = 16;
inline constexpr uint32_t kLeafCount = uint32_t{1} << kLeafBits;
constexpr uint32_t LeafOf(uint64_t position, int leaf_bits = kLeafBits) {
  return leaf_bits == 0 ? 0
                        : static_cast<uint32_t>(position >> (64 - leaf_bits));
}

// What the index holds for one key.
struct IndexEntry {
  uint32_t family = 0;  // ordinal in the family list agreed at set-up
  std::string key;
  Version version;
  bool tombstone = false;
  ElementHash hash;
};

// An element with its position in the index.
struct PlacedElement {
  uint64_t position = 0;
  ElementHash hash;
};

// A pair in transit: an index entry without its hash, and the value. Owns its
// bytes.
struct Pair {
  uint32_t family = 0;
  std::string key;
  Version version;
  bool tombstone = false;
  std::string value;  // empty for a tombstone
};

// The outcome of Apply for one pair.
enum class ApplyOutcome : uint8_t {
  kApplied,     // the pair won against what is stored now
  kSuperseded,  // what is stored now is newer (or equal); nothing changed
  kHeldBack,    // the version is too far in the future; nothing changed
  kDeferred,    // older than the stored pair, which cannot be read now, or the
                // key holds a wide-column entity; nothing changed
};

// A consistent view of a replica at one moment. Not thread-safe; must not
// outlive the StorageView it came from. Elements not yet durable in the index
// are included.
class StorageSnapshot {
 public:
  virtual ~StorageSnapshot() = default;

  // Returns the digest of every leaf, valid while the snapshot lives. O(1):
  // they were computed when the snapshot was taken. There are kLeafCount of
  // them, or a smaller power of two, 2^n, if all replicas are small and agree
  // upon it (in a simulation, say): a leaf is then all positions with equal
  // leading n bits.
  virtual std::span<const Digest> LeafDigests() const = 0;

  // Returns Unavailable if a family was created or dropped since the snapshot
  // was taken; nothing more is read of it then. O(1).
  virtual absl::Status CheckHolds() const { return absl::OkStatus(); }

  // Calls `visit` with position and hash of every element whose position is
  // `first`, `last` or between them, in order of (position, family, key).
  // O(elements visited); fastest where each call goes on behind the one before.
  using Visit = std::function<void(uint64_t position, const ElementHash&)>;
  virtual absl::Status ScanPositions(uint64_t first, uint64_t last,
                                     const Visit& visit) const = 0;
  // The same for the elements of leaf `leaf`.
  absl::Status ScanLeaf(uint32_t leaf, const Visit& visit) const;

  // Reports that the elements of ScanLeaf do not add up to LeafDigests. Later
  // snapshots compute their digests from the entries.
  virtual void DigestsDisagree() const {}

  // Returns how many pairs of this snapshot are in no leaf, and so in no
  // digest, because they are quarantined (see index_format.md): equal digests
  // say nothing of them. O(1).
  virtual uint64_t LeftOut() const = 0;

  // Returns whether the pair of this key is one that LeftOut counts.
  virtual absl::StatusOr<bool> LeavesOut(uint32_t family,
                                         std::string_view key) const = 0;

  // Returns the entry of the element `hash` at `position`; NotFound if there is
  // none.
  virtual absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const = 0;

  // Returns what the snapshot holds for a key, or nullopt. A pair that is left
  // out counts as absent.
  virtual absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const = 0;

  // Returns the value of a live entry of this snapshot. Returns DataLoss if the
  // stored value does not match the entry's hash; the pair is then quarantined
  // and not offered.
  virtual absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const = 0;

  // Returns OK if the hash of an entry of this snapshot is that of what the
  // entry stands for, and DataLoss if not; then it is as with ReadValue.
  virtual absl::Status CheckEntry(const IndexEntry& entry) const {
    return entry.tombstone ? absl::OkStatus() : ReadValue(entry).status();
  }

  // Returns what FindElement returns for each of `elements`, which are in
  // ascending order of position. The result covers only the first ones if
  // `cancelled` turns true or their keys have more than `max_bytes`.
  virtual std::vector<absl::StatusOr<IndexEntry>> FindElements(
      std::span<const PlacedElement> elements, size_t max_bytes,
      const std::function<bool()>& cancelled) const;

  // Reads values of live entries, each as ReadValue does. Not thread-safe; must
  // not outlive the snapshot.
  class ValueReader {
   public:
    virtual ~ValueReader() = default;
    virtual absl::StatusOr<std::string> Read(const IndexEntry& entry) = 0;
  };
  // Returns a reader for about `values` values. It is fastest in ascending
  // order of family and key, since neighbouring pairs are then read together.
  virtual std::unique_ptr<ValueReader> NewValueReader(size_t values) const;
};

// A callback that is told how many elements were scanned, keys looked up and
// values read. It may block, to bound the rate at which the snapshot is read,
// until `in_vain` returns true, which says that nothing more is read of it.
using ReadsDone =
    std::function<void(uint64_t reads, const std::function<bool()>& in_vain)>;

// Returns whether `status`, of FindElement or ReadValue, means that the pair is
// damaged or gone.
inline bool Unreadable(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

// A replica's storage as the protocol sees it. Thread-safe.
class StorageView {
 public:
  virtual ~StorageView() = default;

  // Takes a snapshot and computes its leaf digests. O(writes since the last
  // snapshot), see docs/design.md. Returns Unavailable during an index build;
  // the message tells its progress. Returns Cancelled if `cancelled` turns true
  // while it waits for writers.
  virtual absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) = 0;

  // Applies each pair whose version beats what is stored for its key now, data
  // and index together, in one atomic batch. `outcomes` gets one per pair, in
  // order. On error nothing of the batch was applied. Returns Unavailable if
  // `cancelled` turned true while RocksDB stalled writes.
  virtual absl::Status Apply(std::span<const Pair> pairs,
                             const std::function<bool()>& cancelled,
                             std::vector<ApplyOutcome>* outcomes) = 0;

  // Returns the number of replicated families. Their ordinals are 0 ..
  // FamilyCount() - 1, in the order of their names' bytes. A session refuses
  // any other ordinal.
  virtual uint32_t FamilyCount() const = 0;

  // Returns true if Apply would answer kHeldBack now, and counts that for the
  // statistics. A session does not ask for such a pair.
  virtual bool RejectIfTooFarAhead(const Version& version) const = 0;

  // Notes, for the log and the statistics, a pair that was left out since it is
  // too large to travel, or refused as such.
  virtual void NoteOversized(uint32_t family, std::string_view key) const {}

  // Return the position and the element hash of a pair as this cluster computes
  // them. REQUIRES: `family` < FamilyCount().
  virtual uint64_t PositionOf(uint32_t family, std::string_view key) const = 0;
  virtual ElementHash HashOf(const Pair& pair) const = 0;

  // Makes everything applied so far durable (WAL synced).
  virtual absl::Status Sync() = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_STORAGE_VIEW_H_

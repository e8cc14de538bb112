// What a session needs of storage: a consistent snapshot to read, and a place
// to apply pairs. The RocksDB store and the simulation's memory both fit.

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

// Positions (ElementHasher::Position) are cut into 2^16 leaf partitions by
// their leading 16 bits, whatever the size of the database, so the digests of
// all leaves take 1.5 MiB. Coarser partitions are sums of leaves.
inline constexpr int kLeafBits = 16;
inline constexpr uint32_t kLeafCount = uint32_t{1} << kLeafBits;
constexpr uint32_t LeafOf(uint64_t position, int leaf_bits = kLeafBits) {
  return static_cast<uint32_t>(position >> (64 - leaf_bits));
}

// What the index knows of one key.
struct IndexEntry {
  uint32_t family = 0;  // ordinal in the family list agreed at set-up
  std::string key;
  Version version;
  bool tombstone = false;
  ElementHash hash;
};

// An element with its place in the index.
struct PlacedElement {
  uint64_t position = 0;
  ElementHash hash;
};

// A pair on its way: an index entry without its hash, and the value.
// Owns its bytes.
struct Pair {
  uint32_t family = 0;
  std::string key;
  Version version;
  bool tombstone = false;
  std::string value;  // empty for a tombstone
};

// What became of one pair handed to Apply, in order.
enum class ApplyOutcome : uint8_t {
  kApplied,     // it won against what is stored now
  kSuperseded,  // what is stored now is newer (or equal); nothing changed
  kHeldBack,    // its version is too far in the future; nothing changed
  kDeferred,    // older than what is stored, which does not read at the moment;
                // nothing changed
};

// A consistent view of a replica at one moment. Not thread-safe; must not
// outlive the StorageView it came from. Elements not yet durable in the index
// are included.
class StorageSnapshot {
 public:
  virtual ~StorageSnapshot() = default;

  // Digest of every leaf, valid while the snapshot lives. O(1): readied when
  // the snapshot was taken. There are kLeafCount of them; where all replicas
  // are small and agree upon it (in a simulation, say), a smaller power of two,
  // a leaf then being all positions with so many leading bits alike.
  virtual std::span<const Digest> LeafDigests() const = 0;

  // Unavailable: a family came or went since, and nothing more is read of it.
  // O(1).
  virtual absl::Status CheckHolds() const { return absl::OkStatus(); }

  // Calls `visit` with position and hash of every element of leaf `leaf`, in
  // order of (position, family, key). O(elements of the leaf).
  virtual absl::Status ScanLeaf(
      uint32_t leaf,
      const std::function<void(uint64_t position, const ElementHash&)>& visit)
      const = 0;

  // What ScanLeaf gave is not what LeafDigests says. Those of later snapshots
  // come from the entries.
  virtual void DigestsDisagree() const {}

  // Pairs of this snapshot that are in no leaf, and so in no digest, since they
  // are quarantined (see index_format.md): equal digests say nothing of them.
  // O(1).
  virtual uint64_t LeftOut() const = 0;

  // Whether the pair of this key is one of those.
  virtual absl::StatusOr<bool> LeavesOut(uint32_t family,
                                         std::string_view key) const = 0;

  // The entry of the element `hash` at `position`; NotFound if there is none.
  virtual absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const = 0;

  // What the snapshot holds for a key, or nullopt. A pair that is left out
  // counts as nothing.
  virtual absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const = 0;

  // The value of a live entry of this snapshot. DataLoss if the stored value
  // does not match the entry's hash; the pair is then quarantined and not
  // offered.
  virtual absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const = 0;

  // What FindElement returns of many elements, in ascending order of position:
  // of the first ones, if `cancelled` turns true or their keys have more than
  // `max_bytes`.
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
  // For about `values` of them. Fastest in ascending order of family and key,
  // since what lies together is then read once.
  virtual std::unique_ptr<ValueReader> NewValueReader(size_t values) const;
};

// Told how many elements were scanned, keys looked up and values read. May
// wait, so that the snapshot is read no faster than it may be, until `in_vain`
// says that it is read no more.
using ReadsDone =
    std::function<void(uint64_t reads, const std::function<bool()>& in_vain)>;

// What FindElement and ReadValue return of a pair that is damaged or gone.
inline bool Unreadable(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

// A replica's storage as the protocol sees it. Thread-safe.
class StorageView {
 public:
  virtual ~StorageView() = default;

  // Takes a snapshot and readies its leaf digests. O(writes since the last
  // time), see docs/design.md. Unavailable during an index build;
  // the message says how far it is. Cancelled if `cancelled` turns true while
  // waiting for writers.
  virtual absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) = 0;

  // Applies each pair whose version beats what is stored for its key now, data
  // and index together, in one atomic batch. `outcomes` gets one per pair. On
  // error nothing of the batch was applied. Unavailable: RocksDB stalls writes
  // and `cancelled` turned true while waiting.
  virtual absl::Status Apply(std::span<const Pair> pairs,
                             const std::function<bool()>& cancelled,
                             std::vector<ApplyOutcome>* outcomes) = 0;

  // Replicated families: their ordinals are 0 .. FamilyCount() - 1, in the
  // order of their names' bytes. A session refuses any other ordinal.
  virtual uint32_t FamilyCount() const = 0;

  // True if Apply would answer kHeldBack now: such a pair is not asked for.
  virtual bool RejectIfTooFarAhead(const Version& version) const = 0;

  // A pair was left out since it is too large to travel, or refused as such:
  // for the log and the statistics.
  virtual void NoteOversized(uint32_t family, std::string_view key) const {}

  // Position and element hash of a pair as this cluster computes them.
  // `family` < FamilyCount().
  virtual uint64_t PositionOf(uint32_t family, std::string_view key) const = 0;
  virtual ElementHash HashOf(const Pair& pair) const = 0;

  // Makes everything applied so far durable (WAL synced).
  virtual absl::Status Sync() = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_STORAGE_VIEW_H_

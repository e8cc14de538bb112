// A leaf batch: the elements that one side holds in some leaves, not
// necessarily adjacent ones. It is in memory while a session works these leaves
// off: first as of the snapshot, then as of the snapshot merged with what the
// peer sent. Concurrent writes do not reach it.

#ifndef ROCKSYNC_REPLICATION_SESSION_LEAF_BATCH_H_
#define ROCKSYNC_REPLICATION_SESSION_LEAF_BATCH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"

namespace rocksync {

// A set of leaves: a bit for each, 8 KiB.
class LeafSet {
 public:
  explicit LeafSet(size_t leaves) : bits_(leaves, false) {}
  void Insert(uint32_t leaf) { bits_[leaf] = true; }
  bool Contains(uint32_t leaf) const { return bits_[leaf]; }
  const std::vector<bool>& bits() const { return bits_; }

 private:
  std::vector<bool> bits_;
};

// The changes that a batch made to the merged set, for later batches over the
// same leaves.
struct MergedChanges {
  std::vector<PlacedElement> gained;
  std::vector<PlacedElement> removed;  // in order of position

  void Add(const MergedChanges& later);
  bool Removed(const PlacedElement& element) const;
};

// The elements of a batch. They have ordinals: first those of the snapshot in
// order of position, then those gained. An element gained is known to the peer,
// so it is part of the set but never offered. Memory: 25 bytes an element.
//
// Ordinals are stable between calls of Compact, and so are the hashes.
class LeafBatch {
 public:
  // Reads the leaves (ascending) from the snapshot, as changed by `changes`.
  // Returns Cancelled if `cancelled` turns true, and ResourceExhausted if there
  // are more elements than an exchange takes.
  static absl::StatusOr<LeafBatch> Load(const StorageSnapshot& snapshot,
                                        std::vector<uint32_t> leaves,
                                        const MergedChanges& changes,
                                        const std::function<bool()>& cancelled);

  // Makes the batch the whole set, whose digest is `total`, for one round.
  // Elements of other leaves are not read: an exchange does not compare them,
  // and those that matter are inserted.
  void CoverWholeSet(const Digest& total);
  // Inserts an element of the snapshot into a batch of the whole set, and
  // returns its ordinal.
  uint32_t Insert(const PlacedElement& element);

  bool Covers(uint64_t position) const;

  // The digest of the set as merged so far.
  const Digest& merged() const { return merged_; }

  // The elements that an exchange compares: the merged set as of the last
  // Compact.
  std::span<const ElementHash> hashes() const {
    return whole_set_ ? std::span(hashes_).first(read_) : std::span(hashes_);
  }

  // The positions of their keys, in the same order.
  std::span<const uint64_t> positions() const {
    return std::span(positions_).first(hashes().size());
  }

  // Returns false if the snapshot holds no element at `position`. Fastest for
  // positions that ascend. REQUIRES: Covers(position).
  bool MayHold(uint64_t position);

  // Returns the ordinal of an element of the snapshot; nullopt if an earlier
  // batch has removed it. In a batch of the whole set, an element that was not
  // read is inserted.
  std::optional<uint32_t> Find(uint64_t position, const ElementHash& hash);
  uint64_t PositionAt(uint32_t ordinal) const { return positions_[ordinal]; }
  const ElementHash& HashAt(uint32_t ordinal) const { return hashes_[ordinal]; }

  // Returns whether an element is covered. A covered element need not be
  // offered: the peer knows of it, or of what replaces it. Gained elements are
  // covered.
  bool IsCovered(uint32_t ordinal) const {
    return ordinal >= own_ || state_[ordinal] != State::kOpen;
  }
  bool AreCovered(std::span<const uint32_t> ordinals) const;
  void Cover(uint32_t ordinal);

  // Change the merged set: Gain adds an element, unless an earlier batch gained
  // it; Remove takes away one of the snapshot, once.
  void Gain(const PlacedElement& element);
  void Remove(uint32_t ordinal);
  // Returns everything that Gain and Remove did, without the changes that the
  // batch was loaded with. REQUIRES: Compact was not called since.
  MergedChanges Changes() const;

  // Makes hashes() the merged set. Ordinals change.
  void Compact();

 private:
  enum class State : uint8_t { kOpen, kCovered, kRemoved };

  bool WasRemoved(const ElementHash& hash) const;

  int leaf_bits_ = kLeafBits;
  std::vector<uint32_t> leaves_;
  std::vector<uint64_t> positions_;
  std::vector<ElementHash> hashes_;
  std::vector<State> state_;
  size_t own_ = 0;
  bool as_read_ = false;  // all elements of the snapshot in leaves_ are here
  size_t last_ = 0;       // where MayHold looked last
  bool whole_set_ = false;
  // In a batch of the whole set: the number of elements of leaves_, and of
  // those among them that are of the snapshot, which come first.
  size_t read_ = 0;
  size_t in_order_ = 0;
  std::unordered_multimap<uint64_t, uint32_t> inserted_;  // by position
  // gained_ is a deque: it may become as long as there are elements, and a
  // vector that grows takes three times as much memory meanwhile.
  std::deque<PlacedElement> gained_;
  size_t inherited_ = 0;  // in gained_: those of earlier batches
  // What earlier batches changed, anywhere in the set; ascending.
  std::vector<ElementHash> gained_before_;
  std::vector<ElementHash> removed_before_;
  Digest merged_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_LEAF_BATCH_H_

// The location of the difference of two large sets: which of the 2^16 leaves
// differ, and how far a session has got with them. Leaves are closed batch by
// batch; the other leaves are compared again afterwards.

#ifndef ROCKSYNC_REPLICATION_SESSION_LOCATION_H_
#define ROCKSYNC_REPLICATION_SESSION_LOCATION_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "replication/reconcile/exchange.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/storage_view.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"

namespace rocksync {

// Returns a leaf as an element of an exchange: the leading 128 bits of
//   SHA-256("rocksync leaf" | leaf (4) | count (8) | digest (16)),
// integers big-endian.
ElementHash HashLeaf(uint32_t leaf, const Digest& digest);

class Location {
 public:
  // `leaves` are the digests of the snapshot, and must outlive this object.
  explicit Location(std::span<const Digest> leaves);

  // The digest of the whole set: closed leaves as merged, the others as of the
  // snapshot and changes().
  const Digest& total() const { return total_; }
  uint32_t leaf_count() const { return static_cast<uint32_t>(leaves_.size()); }
  bool IsClosed(uint32_t leaf) const { return closed_.Contains(leaf); }
  uint32_t closed_leaves() const { return closed_leaves_; }
  // Returns whether so many leaves are more than an eighth of all.
  bool AreMany(size_t leaves) const { return leaves > leaf_count() / 8; }
  // Returns all leaves, ascending.
  std::vector<uint32_t> AllLeaves() const;

  // Returns the elements of an exchange over the leaves that are not closed;
  // they are valid until the next call.
  std::span<const ElementHash> Elements();
  // Takes what that exchange found, as ordinals into Elements().
  void Found(const std::vector<uint32_t>& ordinals);

  // For a search: the digests of all leaves, and which of them are closed.
  std::span<const Digest> leaves() const { return leaves_; }
  const std::vector<bool>& closed() const { return closed_.bits(); }
  // Takes the leaves that a search found, ascending; none, if the peer knows
  // them.
  void FoundLeaves(std::vector<uint32_t> leaves, const Expectation& expected) {
    Learn(leaves.size(), expected);
    learned_ = false;
    TakeFound(std::move(leaves));
  }
  // Learns what differed in a batch of `leaves` leaves; other leaves are
  // expected to be alike.
  void Learn(size_t leaves, const Expectation& differed) {
    const double share = leaves == 0 ? 0 : 1 / static_cast<double>(leaves);
    per_leaf_ = {share * differed.differences, share * differed.overwritten};
    learned_ = true;
  }
  // True if what is expected follows from a batch, and is no estimate.
  bool learned() const { return learned_; }
  // Returns what is expected to differ in so many of the leaves found.
  Expectation Expected(size_t leaves) const {
    const auto count = static_cast<double>(leaves);
    return {count * per_leaf_.differences, count * per_leaf_.overwritten};
  }
  // Takes all leaves with elements for different, since one side is empty.
  void FoundAll();

  // Returns the next leaves that were found and are not closed, ascending: as
  // many as hold about max_elements on either side, at least one; empty if
  // there are none. What the peer holds in each follows from its total.
  std::vector<uint32_t> NextBatch(uint64_t peer_total,
                                  uint64_t max_elements) const;
  // Returns `leaves`, in which the peer holds `peer_count` elements. Returns
  // fewer of them, at least one, if that is more than max_elements here or much
  // more there.
  std::vector<uint32_t> Narrow(std::vector<uint32_t> leaves,
                               uint64_t peer_count,
                               uint64_t max_elements) const;

  // Returns the digest of some leaves as of the snapshot and changes().
  Digest Sum(const std::vector<uint32_t>& leaves) const;

  // Closes the leaves of a batch; `merged` is what they hold now.
  void Close(const std::vector<uint32_t>& leaves, const Digest& merged);
  // Merges the changes of a whole-set round that is over. Leaves that still
  // differ are compared again, as changed.
  void Merge(const MergedChanges& changes);

  // Takes finer leaves, whose digests must outlive them, instead of the
  // storage's. REQUIRES: no leaf is closed, and nothing was merged.
  void Refine(std::span<const Digest> finer);
  // Takes the storage's leaves again, of which all count as found, or none.
  // Does nothing unless these are finer ones.
  void Coarsen(bool all_found);
  bool finer() const { return !coarse_.empty(); }
  const MergedChanges& changes() const { return changes_; }

 private:
  void TakeFound(std::vector<uint32_t> leaves);
  // Returns how many elements the peer held on average in the leaves that were
  // found, when they were: in all others it holds what this side holds.
  double PeerShare(uint64_t peer_total) const;

  std::span<const Digest> leaves_;
  std::span<const Digest> coarse_;  // the storage's, while leaves_ are finer
  MergedChanges changes_;
  std::vector<Digest> changed_leaves_;  // leaves_, once there are changes
  Digest total_;
  LeafSet closed_;
  uint32_t closed_leaves_ = 0;
  std::vector<uint32_t> found_;  // ascending
  size_t open_ = 0;              // of them, when they were found
  uint64_t elsewhere_ = 0;       // elements in other leaves, then
  Expectation per_leaf_;         // by the search, or earlier batches
  Expectation per_coarse_leaf_;  // the same, while leaves_ are finer
  bool learned_ = false;
  std::vector<uint32_t> compared_;
  std::vector<ElementHash> elements_;  // the hashes of compared_
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_LOCATION_H_

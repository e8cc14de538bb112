// What two replicas know of each other's leaves before they know which ones
// differ: about how many do, by parities of few bytes; and what is known once
// they do: about how many elements differ in them. See docs/exchange.md,
// "Search for leaves".

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_ESTIMATE_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replication/reconcile/exchange.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/planning/difference_estimate.h"

namespace rocksync {

// Of a search's estimates; index 0, and 1 of the fine one.
inline constexpr uint32_t kLeafEstimatePurpose = 6;

struct LeafEstimate {
  double differing = 0;      // leaves
  bool overwritten = false;  // hardly any of them in their counts
};

// Both sides make parities of their leaves, under the same seed; one of them
// compares the other's with its own.
class LeafEstimator {
 public:
  // `leaves` and `closed`, the leaves that take no part, must outlive it.
  LeafEstimator(const MappingSeed& seed, std::span<const Digest> leaves,
                const std::vector<bool>* closed, Prefer prefer);

  // A third off, a sixth if round trips matter: of bytes() bytes.
  size_t bytes() const { return shape_.bytes(); }
  std::string Make() const;
  LeafEstimate Compare(std::string_view theirs) const;

  // Some 4 to 8 % off, if about `expected` leaves differ: of
  // FineParitiesOfLeaves(expected).bytes() bytes. What differs by far more is
  // told only to do so.
  std::string MakeFine(uint64_t expected) const;
  double CompareFine(uint64_t expected, std::string_view theirs) const;

 private:
  // Of the leaves that take part, as if their digests were counts, or as they
  // are.
  std::vector<ElementHash> Elements(bool counts_alone) const;

  const std::span<const Digest> leaves_;
  const std::vector<bool>* const closed_;
  const MappingKey key_;
  const MappingKey fine_key_;
  const ParityShape shape_;
};

// By what a leaf differs, as its symbols tell it: mine minus theirs.
struct LeafDifference {
  uint32_t leaf = 0;
  uint8_t count = 0;  // of elements, mod 4
  uint32_t sum = 0;   // of keyed sums (leaf_symbols.h)
};

// What differs in leaves that differ so, of so many leaves in all.
Expectation ExpectInLeaves(std::span<const LeafDifference> differences,
                           uint32_t leaf_count);

// The same by chance, of so many leaves of which so many have overwritten keys
// and no others.
Expectation ExpectOverwritten(double differing, double leaves);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_ESTIMATE_H_

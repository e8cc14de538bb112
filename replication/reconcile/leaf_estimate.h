// Estimates for a search for leaves. Before the search, parities of a few bytes
// tell about how many leaves differ. After it, the leaves that were found tell
// about how many elements differ in them. See docs/exchange.md, "Search for
// leaves".

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

// Purpose of the mappings of a search's estimates; index 0, and 1 of the fine
// one.
inline constexpr uint32_t kLeafEstimatePurpose = 6;

struct LeafEstimate {
  double differing = 0;      // leaves
  bool overwritten = false;  // hardly any of them differ in their counts
  bool fine = false;         // by the fine estimate, within its range
};

// Estimates how many leaves differ. Both sides make parities of their leaves,
// under the same seed; one of them compares the other's with its own.
class LeafEstimator {
 public:
  // `leaves` and `closed`, the leaves that take no part, must outlive this.
  LeafEstimator(const MappingSeed& seed, std::span<const Digest> leaves,
                const std::vector<bool>* closed, Prefer prefer);

  // The usual estimate, of bytes() bytes: a third off, or a sixth if round
  // trips matter.
  size_t bytes() const { return shape_.bytes(); }
  std::string Make() const;
  LeafEstimate Compare(std::string_view theirs) const;

  // The fine estimate, if about `expected` leaves differ: parities of
  // FineParitiesOfLeaves(expected).bytes() bytes. Its error is some 4 to 8 %.
  // If far more leaves differ, it tells only that they do.
  std::string MakeFine(uint64_t expected) const;
  LeafEstimate CompareFine(uint64_t expected, std::string_view theirs) const;

 private:
  // Returns the leaves that take part as elements, by their counts alone or by
  // their digests.
  std::vector<ElementHash> Elements(bool counts_alone) const;

  const std::span<const Digest> leaves_;
  const std::vector<bool>* const closed_;
  const MappingKey key_;
  const MappingKey fine_key_;
  const ParityShape shape_;
};

// How a leaf differs, as its symbols tell it: mine minus theirs.
struct LeafDifference {
  uint32_t leaf = 0;
  uint8_t count = 0;  // of elements, mod 4
  uint32_t sum = 0;   // of keyed sums (leaf_symbols.h)
};

// Returns what to expect in leaves that differ so, of `leaf_count` leaves in
// all.
Expectation ExpectInLeaves(std::span<const LeafDifference> differences,
                           uint32_t leaf_count);

// Returns what to expect if `differing` of `leaves` leaves have overwritten
// keys, spread by chance, and no other differences.
Expectation ExpectOverwritten(double differing, double leaves);

// Returns what to expect if `differing` of `leaves` leaves have new keys,
// spread by chance, and no other differences.
Expectation ExpectNew(double differing, double leaves);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_ESTIMATE_H_

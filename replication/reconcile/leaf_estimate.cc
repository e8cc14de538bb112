#include "replication/reconcile/leaf_estimate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "replication/reconcile/leaf_search_messages.h"
#include "replication/reconcile/leaf_symbols.h"

namespace rocksync {
namespace {

constexpr int kParityBuckets = 16;
// Buckets of a level if round trips matter.
constexpr int kHurriedParityBuckets = 128;
// If more than kManyLeaves leaves differ but at most one in kFewOdd buckets of
// the first level is odd, hardly any counts differ: otherwise half would be odd
// by chance.
constexpr int kFewOdd = 8;
constexpr double kManyLeaves = 24;
// Fine parities that tell nothing stand for this many times as many differing
// leaves as they were made for.
constexpr double kFarMore = 3;

}  // namespace

LeafEstimator::LeafEstimator(const MappingSeed& seed,
                             std::span<const Digest> leaves,
                             const std::vector<bool>* closed, Prefer prefer)
    : leaves_(leaves),
      closed_(closed),
      key_(DeriveMapping(seed, kLeafEstimatePurpose, 0)),
      fine_key_(DeriveMapping(seed, kLeafEstimatePurpose, 1)),
      shape_(ShapeParities(2 * leaves.size(), prefer == Prefer::kRoundTrips
                                                  ? kHurriedParityBuckets
                                                  : kParityBuckets)) {}

std::vector<ElementHash> LeafEstimator::Elements(bool counts_alone) const {
  std::vector<ElementHash> elements;
  elements.reserve(leaves_.size());
  for (uint32_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    if ((*closed_)[leaf]) continue;
    const Digest& digest = leaves_[leaf];
    elements.push_back(LeafElement(
        leaf, counts_alone ? Digest{.count = digest.count} : digest));
  }
  return elements;
}

// The first level is of counts alone: it tells whether keys are new or
// overwritten. If many leaves differ, it says little about how many.
std::string LeafEstimator::Make() const {
  const size_t first = shape_.buckets / 8;
  return Parities(Elements(/*counts_alone=*/true), key_, shape_)
             .substr(0, first) +
         Parities(Elements(/*counts_alone=*/false), key_, shape_).substr(first);
}

// A leaf that differs is two elements of the estimate.
LeafEstimate LeafEstimator::Compare(std::string_view theirs) const {
  const std::string mine = Make();
  const double most = 2.0 * static_cast<double>(leaves_.size());
  const double others = EstimateDifference(mine, theirs, shape_, most,
                                           /*first_level=*/1) /
                        2;
  int odd = 0;
  for (int i = 0; i < shape_.buckets / 8; ++i) {
    odd += std::popcount(static_cast<uint8_t>(mine[i] ^ theirs[i]));
  }
  if (odd <= shape_.buckets / kFewOdd && others > kManyLeaves) {
    return {.differing = others, .overwritten = true};
  }
  return {.differing = EstimateDifference(mine, theirs, shape_, most) / 2};
}

std::string LeafEstimator::MakeFine(uint64_t expected) const {
  return FineParities(Elements(/*counts_alone=*/false), fine_key_,
                      FineParitiesOfLeaves(expected));
}

LeafEstimate LeafEstimator::CompareFine(uint64_t expected,
                                        std::string_view theirs) const {
  const FineShape shape = FineParitiesOfLeaves(expected);
  const double elements = EstimateFine(MakeFine(expected), theirs, shape);
  if (std::isfinite(elements)) return {.differing = elements / 2, .fine = true};
  return {.differing = kFarMore * static_cast<double>(expected)};
}

// --- What differs in leaves --------------------------------------------------

namespace {

// Returns how many keys there are if they hit so many leaves by chance.
double KeysBehind(double differing, double leaves) {
  const double all = std::max(leaves, differing + 1);
  return -all * std::log1p(-differing / all);
}

}  // namespace

Expectation ExpectOverwritten(double differing, double leaves) {
  const double keys = KeysBehind(differing, leaves);
  return {.differences = 2 * keys, .overwritten = keys};
}

Expectation ExpectNew(double differing, double leaves) {
  return {.differences = KeysBehind(differing, leaves), .overwritten = 0};
}

// A new key changes a leaf's count mod 4. Two new keys leave it equal if they
// are on different sides; as often, or more often, they are on one side and the
// counts differ by two. So the leaves with equal counts beyond those that
// differ by two have overwritten keys.
Expectation ExpectInLeaves(std::span<const LeafDifference> differences,
                           uint32_t leaf_count) {
  std::array<double, 4> leaves{};
  for (const LeafDifference& one : differences) ++leaves[one.count % 4];
  const double excess = leaves[0] - leaves[2];
  if (excess - 3 * std::sqrt(leaves[0] + leaves[2]) < leaves[0] / 2) {
    return {leaves[1] + leaves[3] + 2 * (leaves[0] + leaves[2]), 0};
  }
  Expectation expected = ExpectOverwritten(excess, leaf_count);
  expected.differences += leaves[1] + leaves[3] + 4 * leaves[2];
  return expected;
}

}  // namespace rocksync

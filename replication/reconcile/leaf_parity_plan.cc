#include "replication/reconcile/leaf_parity_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "replication/reconcile/leaf_symbols.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// Groups have at most so many syndromes on average: decoding takes their
// square.
constexpr double kMaxMeanSyndromes = 96;
// What a round trip is worth.
constexpr double kRoundTripBits = 8 * 200;
// What the receiver says to ask for the syndromes of a group.
constexpr double kRequestBits = 5;
// With fewer other leaves to tell a syndrome checks the result: two wrong ones
// often look like one right one, five hardly ever like four.
constexpr uint32_t kChecked = 3;

}  // namespace

double DifferingLeaves(double leaves, double odd) {
  return odd + OtherLeaves(leaves, odd);
}

double OddLeaves(double leaves, double differing) {
  const double share = std::min(differing / leaves, 0.99);
  return leaves * -std::expm1(2 * std::log1p(-share)) / 2;
}

LeafParityPlan PlanLeafParities(uint32_t leaves, double differing,
                                int least_bits) {
  const double odd = OddLeaves(leaves, differing);
  const double others = OtherLeaves(leaves, odd);
  LeafParityPlan best;
  best.bits = std::numeric_limits<double>::infinity();
  if (odd > kMaxParityShare * leaves) return best;
  SymbolShape shape{.leaves = leaves, .least_bits = least_bits};
  for (int group_bits = 0;; ++group_bits) {
    shape.group_bits = group_bits;
    if (group_bits > 0 && shape.places() < kFewestPlaces) break;
    const double groups = shape.groups();
    if (odd + 2 * others > kMaxMeanSyndromes * groups ||
        shape.bits() >= kMaxSymbolBits) {
      continue;
    }
    const uint32_t spare =
        SpareSyndromes(FirstOthers(others / groups, groups, shape.bits()));
    const double bits = (odd + spare * groups) * shape.bits() +
                        kRequestBits * groups + CellsFor(leaves, odd);
    if (bits < best.bits) best = {shape, bits};
  }
  return best;
}

double OtherLeaves(double leaves, double odd) {
  const double share = std::min(odd / leaves, 0.49);
  const double mean = -std::log1p(-2 * share) / 2;
  return leaves * -std::expm1(-mean) - leaves * share;
}

double CellsFor(double leaves, double odd) {
  const double some = std::max(odd, 1.0);
  // Chance counts where few leaves show, as with planes of keys.
  return ParityBits(leaves, some, 0) * (1 + 0.5 / std::sqrt(some));
}

uint32_t SpareSyndromes(uint32_t others) {
  return 2 * others + (others <= kChecked ? 1 : 0);
}

uint32_t MoreOthers(uint32_t others, double mean) {
  const double most = mean + 3 * std::sqrt(mean) + 1;
  const double more = others + 1 + std::ceil(std::sqrt(mean));
  return static_cast<uint32_t>(std::max(std::ceil(most), more));
}

uint32_t FirstOthers(double mean, double groups, int bits) {
  const auto around = static_cast<uint32_t>(mean);
  double probability = std::exp(-mean);
  if (probability == 0) return MoreOthers(around, mean);
  double sum = probability;
  double least = std::numeric_limits<double>::infinity();
  uint32_t best = 0;
  for (uint32_t others = 0; others < 2 * around + 8; ++others) {
    const double fails = std::max(1 - sum, 0.0);
    const double more =
        SpareSyndromes(MoreOthers(others, mean)) - SpareSyndromes(others);
    const double cost =
        groups * bits * (SpareSyndromes(others) + fails * more) -
        kRoundTripBits * std::expm1(groups * std::log1p(-fails - 1e-12));
    if (cost < least) {
      least = cost;
      best = others;
    }
    probability *= mean / (others + 1);
    sum += probability;
  }
  return best;
}

double MeanOthers(uint32_t others, double probability) {
  double low = 0;
  double high = 2.0 * others + 20;
  for (int i = 0; i < 30; ++i) {
    const double mean = (low + high) / 2;
    double term = std::exp(-mean);
    double below = 0;
    for (uint32_t k = 0; k < others; ++k) {
      below += term;
      term *= mean / (k + 1);
    }
    (below > probability ? low : high) = mean;
  }
  return low;
}

}  // namespace rocksync

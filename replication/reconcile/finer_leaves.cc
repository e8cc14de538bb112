#include "replication/reconcile/finer_leaves.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/leaf_parity_plan.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// The slack of ids of an exchange over all elements, and over those that a
// search leaves, after which another search follows; and what exchanges take
// beyond their model.
constexpr int kSlack = 10;
constexpr int kSlackOfRest = 4;
constexpr double kBeyondModel = 1.05;
// Belief propagation takes as long for a leaf as reading so many elements.
constexpr double kReadsPerLeaf = 3;
// What telling a leaf among many takes beyond its entropy, and its kind.
constexpr double kRankBits = 2.5;

double RankBits(double chosen, double of) {
  return chosen * (std::max(std::log2(of / chosen), 0.0) + kRankBits);
}

// Returns the bits of a search in so many leaves and what follows on it: the
// elements asked for, and an exchange over the leaves in which several differ,
// or whose symbols do not tell the one that does.
double SearchBits(double leaves, const SidesThatDiffer& sides) {
  const double n = std::max(sides.mine, sides.theirs);
  const double differing = LeavesWith(sides.differences, leaves);
  const double mean = sides.differences / leaves;
  const int least =
      SymbolBitsToTell(static_cast<uint64_t>(n / leaves), /*hurry=*/false);
  const LeafParityPlan plan =
      PlanLeafParities(static_cast<uint32_t>(leaves), differing, least);
  if (std::isinf(plan.bits)) return plan.bits;
  const int sum_bits = plan.shape.bits() - 1;
  const double fits =
      std::min(2 * (n / leaves) / (SumMask(sum_bits + 2) + 1.0), 1.0);
  const double alone = sides.differences * std::exp(-mean);
  const double told = alone * (1 - fits);
  const double asked = told / 2;
  const double unknown_leaves = differing - told;
  const double unknown = sides.differences - told;
  return plan.bits + RankBits(asked, leaves) + asked * sum_bits +
         RankBits(unknown_leaves, leaves) +
         SketchBits(std::max(unknown_leaves * (n / leaves + 1), unknown),
                    unknown, kSlackOfRest);
}

// Returns the bits of an exchange over all elements.
double ExchangeBits(const SidesThatDiffer& sides) {
  const double only_mine =
      std::clamp((sides.differences + sides.mine - sides.theirs) / 2, 0.0,
                 sides.differences);
  const double only_theirs = sides.differences - only_mine;
  const double filters =
      PlanFilters(sides.mine, only_mine, sides.theirs, only_theirs, kSlack)
          .bits;
  const double parities = ParityPlanBits(
      std::min(sides.mine, sides.theirs), std::max(sides.mine, sides.theirs),
      std::min(only_mine, only_theirs), kSlack);
  return kBeyondModel * std::min(filters, parities);
}

}  // namespace

double LeavesWith(double differences, double leaves) {
  return -leaves * std::expm1(-differences / leaves);
}

bool MayTellLeaves(double differences, uint32_t leaves) {
  const double differing = LeavesWith(differences, leaves);
  return !std::isinf(PlanLeafParities(leaves, differing, kMinSymbolBits).bits);
}

int ChooseFinerBits(int bits, double most, const SidesThatDiffer& sides) {
  if (sides.differences < 1 || sides.mine < 1 || sides.theirs < 1) return 0;
  const double exchange = ExchangeBits(sides);
  int best = 0;
  double most_saved = 0;
  for (int finer = bits + 1; finer <= kMaxFinerBits; ++finer) {
    const double leaves = std::exp2(finer);
    if (leaves > most) break;
    const double saved = (exchange - SearchBits(leaves, sides)) / 8 -
                         kReadsPerLeaf * leaves / kElementsPerByte;
    if (saved > most_saved) {
      most_saved = saved;
      best = finer;
    }
  }
  return best;
}

}  // namespace rocksync

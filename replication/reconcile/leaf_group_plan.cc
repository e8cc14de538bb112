#include "replication/reconcile/leaf_group_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rocksync {
namespace {

// A single group takes the fewest bytes for up to kSingleGroup differing
// leaves; for more, groups of about 16 to 32 do, and are quicker to decode.
constexpr double kSingleGroup = 24;
constexpr double kLeastPerGroup = 16;
constexpr double kMaxPerGroup = 96;
// At first, groups get this share of the pairs that the estimate asks for.
// Pairs that are sent in vain, because the estimate is too high, cost more than
// a second pass, which knows from the decoded groups how many the others need.
constexpr double kFirstShare = 0.8;
constexpr double kFirstShareOfSingle = 0.9;
// The probe is made for this many standard deviations more leaves than are
// expected, if it is known about how many differ.
constexpr double kProbeDeviations = 3.5;
// Standard errors of the estimate (see difference_estimate.h): usually, and if
// round trips matter.
constexpr double kLeafEstimateError = 0.35;
constexpr double kHurriedEstimateError = 0.13;
// If round trips matter, the first pass suffices for so many standard errors
// more leaves than are estimated.
constexpr double kHurriedErrors = 1.5;
// The pairs of syndromes that groups take, for each leaf that differs, and the
// fine parities that come with them (measured).
constexpr double kPairsToDecode = 1.2;

}  // namespace

uint32_t ProbePairs(double expected) {
  const double pairs = expected + kProbeDeviations * std::sqrt(expected);
  return kProbeSyndromePairs +
         static_cast<uint32_t>(std::ceil(std::min(pairs, kMaxOfProbe)));
}

int ChooseGroupBits(const SymbolShape& shape, double differing) {
  if (differing <= kSingleGroup) return 0;
  SymbolShape chosen = shape;
  const auto groups = static_cast<uint32_t>(differing / kLeastPerGroup);
  chosen.group_bits = std::bit_width(groups) - 1;
  // Larger groups without longer symbols need fewer pairs to spare.
  while (chosen.group_bits > 0 &&
         2 * differing <= kMaxPerGroup * chosen.groups()) {
    SymbolShape larger = chosen;
    --larger.group_bits;
    if (larger.bits() > chosen.bits()) break;
    chosen = larger;
  }
  return chosen.group_bits;
}

uint32_t FirstPairs(const SymbolShape& shape, double differing, Prefer prefer) {
  const bool single = shape.group_bits == 0;
  const bool hurry = prefer == Prefer::kRoundTrips;
  const double mean = differing / shape.groups();
  const double error = hurry ? kHurriedEstimateError : kLeafEstimateError;
  const double spread = single ? error * mean : std::sqrt(mean);
  const double pairs = hurry ? mean * (1 + kHurriedErrors * error) + 2 * spread
                       : single ? mean * kFirstShareOfSingle
                                : mean * kFirstShare + spread / 2;
  return std::min(static_cast<uint32_t>(std::ceil(pairs)) + 1,
                  kMaxSyndromePairs);
}

double SyndromeBits(const SymbolShape& shape, double differing) {
  return kPairsToDecode * 2 * differing * shape.bits();
}

}  // namespace rocksync

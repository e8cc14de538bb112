#include "sketch/planning/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sketch/parities/coupled_parities.h"

namespace rocksync {
namespace {

// The mean differences of a group at which widths are chosen.
constexpr double kGroupDifferences = 31;
// The power sums per difference, extensions included (measured).
constexpr double kSumsPerDifference = 1.15;
constexpr int kMinIdBits = 12;
// A filter must save this share of the whole to be worth its round trip.
constexpr double kWorthwhile = 0.98;
// The factor by which parities exceed what decodes now and then: with it they
// decode nearly always, in half the time.
constexpr double kParityMargin = 1.09;
// Bits of parities for a key that shows with probability 1/2 (measured: 1.1
// decode 500 of 9 000 and more).
constexpr double kDoubtfulBits = 1.1 * kParityMargin;
// Bits of the head and coder state of a filter.
constexpr double kFilterHeadBits = 8 * 20;

// Returns the rates tried, with what a filter of each costs, computed once.
constexpr size_t kRateSteps = 4 * 26;
struct RateCost {
  double rate = 1;
  double bits_per_element = 0;
};
const std::array<RateCost, kRateSteps>& RateCosts() {
  static const std::array<RateCost, kRateSteps> costs = [] {
    std::array<RateCost, kRateSteps> table;
    for (size_t i = 1; i < kRateSteps; ++i) {
      const double rate = RateFromCode(static_cast<uint8_t>(i));
      table[i] = {rate, FilterBitsPerElement(rate)};
    }
    return table;
  }();
  return costs;
}

double BinaryEntropy(double p) {
  if (!(p > 0 && p < 1)) return 0;
  return -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

// Returns how many cells carry as much as `bits`, if `surplus` elements obscure
// some.
double WithObscured(double bits, double surplus) {
  double all = bits;
  for (int i = 0; i < 20; ++i) {
    const double obscured = -std::expm1(-2 * surplus * kCoupledCells / all) / 2;
    all = bits / std::max(1 - BinaryEntropy(obscured), 1e-3);
  }
  return all;
}

double FilterBits(double n, const RateCost& cost) {
  return cost.rate >= 1 ? 0 : n * cost.bits_per_element + kFilterHeadBits;
}

}  // namespace

double ParityBits(double n, double missing, double surplus) {
  const double share = missing / n;
  // Measured with coupled_decoder.h: 1.15 of the bound from a tenth missing on,
  // more if fewer are missing (1.23 at 3 %, 1.37 at 1 %, 1.53 at 0.2 %).
  const double above_bound =
      1.12 + 0.065 * std::max(0.0, std::log2(0.15 / share));
  const double bound = n * BinaryEntropy(share);
  return WithObscured(kParityMargin * above_bound * bound, surplus);
}

double KeyPlaneBits(double n, double differing, double surplus,
                    uint32_t plane) {
  const double open = differing * std::exp2(-static_cast<double>(plane));
  const double known = differing - open;
  const double bits =
      ParityBits(n - known, open / 2, 0) + kDoubtfulBits * known;
  // Chance counts where few keys show.
  const double showing = std::max(differing / 2, 1.0);
  return WithObscured(bits * (1 + 1.5 / std::sqrt(showing) + 20 / showing),
                      surplus / 2);
}

double RateFromCode(uint8_t code) { return std::exp2(-code / 4.0); }

uint8_t RateCode(double rate) {
  return static_cast<uint8_t>(
      std::clamp(std::round(-4 * std::log2(rate)), 0.0, 255.0));
}

double FilterBitsPerElement(double false_positive_rate) {
  const double p = false_positive_rate;
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::infinity();
  return BinaryEntropy(p) / -std::log1p(-p);
}

uint64_t FilterSlots(uint64_t n, double false_positive_rate) {
  const double m = static_cast<double>(n) / -std::log1p(-false_positive_rate);
  return static_cast<uint64_t>(
      std::clamp(std::ceil(m), 1.0, static_cast<double>(kMaxReductionRange)));
}

// The slack is the minimum over s of 1.15 s + 2^-s * (8 pair_bytes + 80): a bit
// more in every sum, against a pair in vain and an element left to the retry.
int ChooseSlack(double pair_bytes) {
  const double loss = 8 * std::max(pair_bytes, 0.0) + 80;
  const double s = std::log2(std::log(2.0) / kSumsPerDifference * loss);
  return std::clamp(static_cast<int>(std::ceil(s)), 9, 16);
}

double MaxSingleGroup(uint64_t n) {
  return std::clamp(1.4e8 / static_cast<double>(std::max<uint64_t>(n, 1)),
                    double{30}, double{140});
}

IdShape SingleGroupShape(uint64_t n, int slack) {
  const double bits =
      std::ceil(std::log2(static_cast<double>(std::max<uint64_t>(n, 1)))) +
      slack;
  return {
      .groups = 1,
      .bits = std::clamp(static_cast<int>(bits), kMinIdBits, kMaxFieldBits)};
}

IdShape ChooseIdShape(uint64_t n, double d, int slack) {
  if (d <= MaxSingleGroup(n)) return SingleGroupShape(n, slack);
  const double size = static_cast<double>(n);
  const double bits = std::round(
      std::log2(std::max(size / d, 1.0) * kGroupDifferences) + slack);
  IdShape shape;
  shape.bits = std::clamp(static_cast<int>(bits), kMinIdBits, kMaxFieldBits);
  const double elements_per_group = std::exp2(shape.bits - slack);
  // Groups smaller than about 20 differences would waste power sums.
  const double groups =
      std::min(std::ceil(size / elements_per_group), std::ceil(d / 20));
  shape.groups = static_cast<uint32_t>(std::max(groups, 1.0));
  return shape;
}

double SketchBits(double n, double d, int slack) {
  if (d < 1) return 0;
  const double request = 0.5 * (std::log2(std::max(2 * n / d, 1.0)) + 1.5);
  const double bits =
      std::log2(std::max(n / d, 1.0) * std::min(d, kGroupDifferences)) + slack;
  return d * (kSumsPerDifference * bits + request);
}

FilterPlan PlanFilters(double n1, double m1, double n2, double m2, int slack) {
  FilterPlan none;
  none.bits = SketchBits(std::max(n1, n2), m1 + m2, slack);
  FilterPlan best = none;
  for (const RateCost& first : RateCosts()) {
    const double first_bits = FilterBits(n1, first);
    if (first_bits >= best.bits) continue;
    const double open2 = m2 * first.rate;
    const double left2 = n2 - m2 + open2;
    for (const RateCost& second : RateCosts()) {
      const double filter_bits = first_bits + FilterBits(left2, second);
      if (filter_bits >= best.bits) continue;
      const double open1 = m1 * second.rate;
      const double bits =
          filter_bits +
          SketchBits(std::max(n1 - m1 + open1, left2), open1 + open2, slack);
      if (bits < best.bits) best = {first.rate, bits};
    }
  }
  return best.bits < kWorthwhile * none.bits ? best : none;
}

double PlanLastFilter(double n, double m, double m_other, int slack) {
  const double common = std::max(n - m_other, 0.0);
  const double none = SketchBits(std::max(n, common + m), m + m_other, slack);
  double best_bits = kWorthwhile * none;
  double best = 1;
  for (const RateCost& cost : RateCosts()) {
    if (cost.rate >= 1) continue;
    const double bits =
        FilterBits(n, cost) + SketchBits(std::max(n, common + m * cost.rate),
                                         m * cost.rate + m_other, slack);
    if (bits < best_bits) {
      best_bits = bits;
      best = cost.rate;
    }
  }
  return best;
}

}  // namespace rocksync

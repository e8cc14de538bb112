#include "sketch/planning/sketch_schedule.h"

#include <algorithm>
#include <cmath>

namespace rocksync {
namespace {

// The fewest sums worth a pass, for a single group that has had more than a
// few.
constexpr double kSmallestStep = 10;

// Returns P(X > k) for X Poisson with this mean.
double PoissonAbove(double mean, uint32_t k) {
  double term = std::exp(-mean);
  double sum = term;
  for (uint32_t i = 1; i <= k; ++i) {
    term *= mean / i;
    sum += term;
  }
  return std::max(1 - sum, 1e-300);
}

double EstimateMean(uint32_t sums, std::span<const uint32_t> decoded,
                    uint32_t failed) {
  double total = 0;
  for (const uint32_t size : decoded) total += size;
  const double n = static_cast<double>(decoded.size());
  double best = sums;
  double best_likelihood = -INFINITY;
  for (double mean = 0.4 * sums + 1; mean < 2.5 * sums + 4; mean *= 1.01) {
    const double likelihood = total * std::log(mean) - n * mean +
                              failed * std::log(PoissonAbove(mean, sums));
    if (likelihood > best_likelihood) {
      best_likelihood = likelihood;
      best = mean;
    }
  }
  return best;
}

}  // namespace

double ShareToDecode(uint32_t passes_left, bool hurry) {
  if (hurry) return 0.999;
  return passes_left > 1 ? 0.75 : 0.97;
}

uint32_t FirstSums(double mean, double uncertainty, SumsMargin margin,
                   bool single) {
  const double spread = single ? 0 : std::sqrt(std::max(mean, 1.0));
  double sums = mean;
  switch (margin) {
    case SumsMargin::kFrugal:
      sums = mean * (1 - 0.5 * uncertainty);
      break;
    case SumsMargin::kEven:
      sums = mean * (1 + 0.25 * uncertainty) + 0.5 * spread + 1;
      break;
    case SumsMargin::kMost:
      sums = mean * (1 + 0.25 * uncertainty) + 2 * spread + 1;
      break;
    case SumsMargin::kAmple:
      sums = mean * (1 + 0.5 * uncertainty) + spread + 2;
      break;
    case SumsMargin::kFinal:
      sums = mean * (1 + uncertainty) + 3.5 * spread + 3;
      break;
  }
  return static_cast<uint32_t>(std::max(std::ceil(sums), 3.0));
}

uint32_t NextSums(uint32_t sums, std::span<const uint32_t> decoded,
                  uint32_t failed, double share, bool hurry, bool single,
                  double mean) {
  if (decoded.empty() && mean <= sums) {
    // There is nothing to learn from, so the sums grow by a factor.
    const double step = std::ceil(sums * (hurry ? 0.5 : 0.3)) + 2;
    if (hurry || !single) return sums + static_cast<uint32_t>(step);
    // In a single group all excess sums are wasted, and a pass costs some 7
    // bytes. With many sums, growing by 1.3 would take 3 % more bytes and a
    // third of a pass less, by 1.1 2 % fewer bytes and a pass more.
    const double small_step =
        std::max(std::ceil(sums * 0.2) + 1, std::min(step, kSmallestStep));
    return sums + static_cast<uint32_t>(small_step);
  }
  if (!decoded.empty()) mean = EstimateMean(sums, decoded, failed);
  const double failing = PoissonAbove(mean, sums);
  // A few groups cost little, however much is sent for them.
  share = std::max(share, 1 - 0.12 * failed);
  uint32_t next = sums + 1;
  const double most = 4 * std::max<double>(sums, mean) + 16;
  while (next < most && PoissonAbove(mean, next) > (1 - share) * failing) {
    ++next;
  }
  return next;
}

}  // namespace rocksync

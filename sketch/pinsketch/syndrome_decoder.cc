#include "sketch/pinsketch/syndrome_decoder.h"

#include <algorithm>
#include <utility>

#include "sketch/pinsketch/root_finding.h"

namespace rocksync {
namespace {

// Returns the shortest linear recurrence of s_1 .. s_2t by Massey's algorithm,
// as a multiple of the connection polynomial, lowest coefficient first: an
// inverse in each step would take longer than the step. s_2k = s_k^2 makes
// every second discrepancy 0, so those steps are skipped. It is empty if it is
// longer than t.
Polynomial ConnectionPolynomial(const Field& field,
                                std::span<const uint32_t> sums) {
  const size_t n = 2 * sums.size();
  // Holds s_k at reversed[n - k], so that a discrepancy is one dot product.
  std::vector<uint32_t> reversed(n);
  for (size_t k = 1; k <= n; ++k) {
    reversed[n - k] =
        k % 2 == 1 ? sums[k / 2] : field.Square(reversed[n - k / 2]);
  }
  Polynomial current = {1};
  Polynomial previous = {1};
  uint32_t previous_discrepancy = 1;
  size_t length = 0;
  size_t gap = 1;  // steps since `previous` was current
  for (size_t k = 1; k <= n; k += 2, gap += 2) {
    const uint32_t discrepancy = field.Dot(current.data(), &reversed[n - k],
                                           std::min(current.size(), k));
    if (discrepancy == 0) continue;
    const bool longer = 2 * length < k;
    Polynomial saved;
    if (longer) saved = current;
    if (current.size() < previous.size() + gap) {
      current.resize(previous.size() + gap, 0);
    }
    field.Scale(previous_discrepancy, current.data(), current.size());
    field.AddScaled(discrepancy, previous.data(), current.data() + gap,
                    previous.size());
    if (longer) {
      length = k - length;
      if (length > sums.size()) return {};
      previous = std::move(saved);
      previous_discrepancy = discrepancy;
      gap = 0;
    }
  }
  while (current.back() == 0) current.pop_back();
  if (current.size() != length + 1) return {};
  return current;
}

}  // namespace

bool DecodePowerSums(const Field& field, std::span<const uint32_t> sums,
                     std::vector<uint32_t>* elements) {
  elements->clear();
  if (std::all_of(sums.begin(), sums.end(),
                  [](uint32_t sum) { return sum == 0; })) {
    return true;
  }
  Polynomial locator = ConnectionPolynomial(field, sums);
  if (locator.empty()) return false;
  // The locator is a multiple of the product of (1 - x e); reversed, of (x -
  // e).
  std::reverse(locator.begin(), locator.end());
  field.Scale(field.Inverse(locator.back()), locator.data(), locator.size());
  if (locator.size() == 1) return true;
  return FindRoots(field, locator, elements);
}

}  // namespace rocksync

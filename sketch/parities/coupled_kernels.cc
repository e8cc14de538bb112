#include "sketch/parities/coupled_kernels.h"

#include <algorithm>
#include <cmath>

namespace rocksync {
namespace {

// The most certain message of a cell: products of a few such odds stay within a
// float's range.
constexpr float kMaxCertain = 0.999999f;
// The belief closest to 0; dividing a product by a smaller one is inexact.
constexpr float kLeastBelief = 1e-6f;

// A cell's message r says: 1 + r is proportional to the probability that the
// other elements explain its parity, 1 - r that the element itself does.
template <bool kSomeDoubtful>
BeliefUpdate Update(const CoupledWindow& window,
                    const std::array<const float*, kCoupledCells>& product,
                    float prior_of_most, uint8_t* missing) {
  const uint8_t* const doubtful = window.doubtful;
  const uint16_t* const c0 = window.cell[0];
  const uint16_t* const c1 = window.cell[1];
  const uint16_t* const c2 = window.cell[2];
  const uint16_t* const c3 = window.cell[3];
  const uint16_t* const c4 = window.cell[4];
  float* const t0 = window.belief[0];
  float* const t1 = window.belief[1];
  float* const t2 = window.belief[2];
  float* const t3 = window.belief[3];
  float* const t4 = window.belief[4];
  const float* const p0 = product[0];
  const float* const p1 = product[1];
  const float* const p2 = product[2];
  const float* const p3 = product[3];
  const float* const p4 = product[4];
  const auto message = [](float all, float own) {
    const float r = all / own;
    return r > kMaxCertain ? kMaxCertain
                           : (r < -kMaxCertain ? -kMaxCertain : r);
  };
  const auto belief = [](float here, float there) {
    const float t = (there - here) / (there + here);
    return std::fabs(t) < kLeastBelief ? kLeastBelief : t;
  };
  float change = 0;
  float doubt = 0;
#pragma omp simd reduction(+ : change, doubt)
  for (size_t i = 0; i < window.size; ++i) {
    const float r0 = message(p0[c0[i]], t0[i]);
    const float r1 = message(p1[c1[i]], t1[i]);
    const float r2 = message(p2[c2[i]], t2[i]);
    const float r3 = message(p3[c3[i]], t3[i]);
    const float r4 = message(p4[c4[i]], t4[i]);
    float prior = prior_of_most;
    if constexpr (kSomeDoubtful) {
      prior = doubtful[i] != 0 ? 1.0f : prior_of_most;
    }
    // Odds from all cells but one, for each of them, are products from the left
    // times products from the right.
    const float a0 = prior * (1 - r0), b0 = 1 + r0;
    const float a01 = a0 * (1 - r1), b01 = b0 * (1 + r1);
    const float a012 = a01 * (1 - r2), b012 = b01 * (1 + r2);
    const float a34 = (1 - r3) * (1 - r4), b34 = (1 + r3) * (1 + r4);
    const float a234 = (1 - r2) * a34, b234 = (1 + r2) * b34;
    const float n0 = belief(prior * (1 - r1) * a234, (1 + r1) * b234);
    const float n1 = belief(a0 * a234, b0 * b234);
    const float n2 = belief(a01 * a34, b01 * b34);
    const float n3 = belief(a012 * (1 - r4), b012 * (1 + r4));
    const float n4 = belief(a012 * (1 - r3), b012 * (1 + r3));
    const float here = b012 * b34;
    const float there = a012 * a34;
    missing[i] = there > here ? 1 : 0;
    doubt += (there > here ? here : there) / (here + there);
    change += std::fabs(n0 - t0[i]) + std::fabs(n1 - t1[i]) +
              std::fabs(n2 - t2[i]) + std::fabs(n3 - t3[i]) +
              std::fabs(n4 - t4[i]);
    t0[i] = n0;
    t1[i] = n1;
    t2[i] = n2;
    t3[i] = n3;
    t4[i] = n4;
  }
  return {change, doubt};
}

}  // namespace

BeliefUpdate UpdateBeliefs(
    const CoupledWindow& window,
    const std::array<const float*, kCoupledCells>& product, float prior,
    uint8_t* missing) {
  return window.doubtful == nullptr
             ? Update<false>(window, product, prior, missing)
             : Update<true>(window, product, prior, missing);
}

void MultiplyRows(const float* base, const float* const* rows, size_t row_count,
                  size_t size, float* out) {
  std::copy(base, base + size, out);
  for (size_t r = 0; r < row_count; ++r) {
    const float* const row = rows[r];
#pragma omp simd
    for (size_t i = 0; i < size; ++i) out[i] *= row[i];
  }
}

}  // namespace rocksync

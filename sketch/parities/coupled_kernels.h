// The inner loops of coupled_decoder.cc: belief propagation within one window.
// Two machines may differ in the last bits of a float; nothing that two
// replicas have to agree upon depends on them.

#ifndef ROCKSYNC_SKETCH_PARITIES_COUPLED_KERNELS_H_
#define ROCKSYNC_SKETCH_PARITIES_COUPLED_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "sketch/parities/coupled_parities.h"

namespace rocksync {

// The elements of a window. `cell[j]` are indexes into row j of `product` and
// `contribution`. `belief[j]` is what an element tells its j-th cell:
// P(not missing) - P(missing), in (-1, 1) and never 0.
struct CoupledWindow {
  size_t size = 0;
  std::array<const uint16_t*, kCoupledCells> cell{};
  std::array<float*, kCoupledCells> belief{};
  // If not null: by element, 1 if it is as likely missing as not.
  const uint8_t* doubtful = nullptr;
};

// UpdateBeliefs takes one step of belief propagation: from the products of all
// beliefs of a cell (times the sign of its parity and its reliability) to new
// beliefs. `prior` is P(missing) / P(not missing) of an element of which
// nothing is known. `missing[i]` becomes 1 if element i is more likely missing
// than not.
struct BeliefUpdate {
  float change = 0;  // sum over all beliefs of how much they changed
  float doubt =
      0;  // expected number of elements i of which missing[i] is wrong
};
BeliefUpdate UpdateBeliefs(
    const CoupledWindow& window,
    const std::array<const float*, kCoupledCells>& product, float prior,
    uint8_t* missing);

// Sets out[i] to base[i] times the product of row[i] over all rows.
void MultiplyRows(const float* base, const float* const* rows, size_t row_count,
                  size_t size, float* out);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PARITIES_COUPLED_KERNELS_H_

// Sums of odd powers of field elements, group by group: the syndromes of a
// PinSketch (Dodis, Ostrovsky, Reyzin and Smith, "Fuzzy extractors", section
// 6.3; the even powers follow by squaring). Sums of two sets, added, are the
// sums of their symmetric difference.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_POWER_SUMS_H_
#define ROCKSYNC_SKETCH_PINSKETCH_POWER_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sketch/element/cpu_features.h"

namespace rocksync {

// A run of elements: [begin, end) of some array.
struct ElementRange {
  size_t begin = 0;
  size_t end = 0;
};

// Groups of at least this many elements use sums of products in place of powers
// (gram_plan.h): all sums from the first one on cost little more than the last
// few of them.
inline constexpr size_t kGramElements = 1000;

// Sets out[g * count + i - first], for each group g and each i in
// [first, first + count), to the sum of x^(2 i + 1) over the elements x of the
// group, in GF(2^bits). Zeros among the elements contribute nothing.
//
// The computation is bit-sliced: 64 elements of one group are the bits of one
// word, as many groups side by side as words fit a vector. It takes about
// bits^2 / lanes operations an element and power, and memory for count * bits
// vectors.
void OddPowerSums(int bits, uint32_t first, uint32_t count,
                  std::span<const uint32_t> elements,
                  std::span<const ElementRange> groups,
                  std::vector<uint32_t>* out, CpuLevel level = BestCpuLevel());

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_POWER_SUMS_H_

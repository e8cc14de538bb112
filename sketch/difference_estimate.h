// How many elements two sets differ in, roughly, from few bytes: parities of
// geometrically sampled buckets (in the manner of the strata estimator of
// Eppstein et al., "What's the Difference?", SIGCOMM 2011, with one bit where
// that has a cell).

#ifndef ROCKSYNC_SKETCH_DIFFERENCE_ESTIMATE_H_
#define ROCKSYNC_SKETCH_DIFFERENCE_ESTIMATE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sketch/element.h"
#include "sketch/mapping.h"

namespace rocksync {

// Level l < levels - 1 samples elements with probability 2^-(l + 1), the last
// level takes the rest; every level has as many buckets of one bit.
struct ParityShape {
  int levels = 16;   // 1 .. 20
  int buckets = 32;  // 32 or 64
  size_t bytes() const { return static_cast<size_t>(levels * buckets / 8); }
};

// For sets of `total` elements together: enough levels that the sparsest does
// not overflow if they are disjoint.
ParityShape ShapeParities(uint64_t total, int buckets);

// The parities of `elements`: level after level, `buckets` bits big-endian
// each. With v = Mix(hash, key): the level is the number of leading zeros of v,
// the bucket v mod `buckets`.
std::string Parities(std::span<const ElementHash> elements,
                     const MappingKey& key, const ParityShape& shape);

// The most likely number of differences between the sets behind `mine` and
// `theirs`, which must both have shape.bytes() bytes, between 1 and `max`. The
// standard error is about 25 % with 32 buckets.
double EstimateDifference(std::string_view mine, std::string_view theirs,
                          const ParityShape& shape, double max);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_DIFFERENCE_ESTIMATE_H_

// Estimates roughly how many elements two sets differ in, from few bytes:
// parities of geometrically sampled buckets (in the manner of the strata
// estimator of Eppstein et al., "What's the Difference?", SIGCOMM 2011, with
// one bit where that has a cell).

#ifndef ROCKSYNC_SKETCH_PLANNING_DIFFERENCE_ESTIMATE_H_
#define ROCKSYNC_SKETCH_PLANNING_DIFFERENCE_ESTIMATE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// The shape of an estimate. Level l < levels - 1 samples elements with
// probability 2^-(l + 1), the last level takes the rest; every level has as
// many buckets of one bit.
struct ParityShape {
  int levels = 16;   // 1 .. 20
  int buckets = 32;  // 16, 32, 64 or 128
  size_t bytes() const { return static_cast<size_t>(levels * buckets / 8); }
};

// Returns a shape for sets of `total` elements together: enough levels that the
// sparsest does not overflow if the sets are disjoint.
ParityShape ShapeParities(uint64_t total, int buckets);

// Returns the parities of `elements`: level after level, `buckets` bits
// big-endian each. With v = Mix(hash, key), the level is the number of leading
// zeros of v, the bucket v mod `buckets`.
std::string Parities(std::span<const ElementHash> elements,
                     const MappingKey& key, const ParityShape& shape);

// Returns the most likely number of differences, between 1 and `max`, of the
// sets behind `mine` and `theirs`, which must both have shape.bytes() bytes.
// The standard error is about 35 % with 16 buckets, 25 % with 32, 13 % with
// 128. Levels before `first_level` are ignored.
double EstimateDifference(std::string_view mine, std::string_view theirs,
                          const ParityShape& shape, double max,
                          int first_level = 0);

// The shape of a finer estimate, if at least `least` elements are known to
// differ: one level of many buckets, made for `least` to twice as many.
struct FineShape {
  uint32_t buckets = 256;  // a multiple of 8
  uint32_t threshold = 0;  // elements with a smaller sample take part
  size_t bytes() const { return buckets / 8; }
};
FineShape ShapeFine(uint64_t least);
// Returns a shape of about `buckets` buckets.
FineShape ShapeFine(uint64_t least, uint32_t buckets);

// Returns the fine parities of `elements`. With v = Mix(hash, key), the lower
// 32 bits are the sample, the upper ones are scaled to `buckets`; bucket b is
// bit b % 8 of byte b / 8.
std::string FineParities(std::span<const ElementHash> elements,
                         const MappingKey& key, const FineShape& shape);

// Returns the number of differences behind two strings of fine parities, of
// shape.bytes() bytes each, within 2 to 7 %; infinite if there are many times
// more than `least`.
double EstimateFine(std::string_view mine, std::string_view theirs,
                    const FineShape& shape);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PLANNING_DIFFERENCE_ESTIMATE_H_

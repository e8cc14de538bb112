// Golomb-Rice coded gaps write small sorted subsets as bits, within 5 % of the
// entropy of a random subset and without a header. They are for what fits few
// bytes; large filters use filter_coding.h.

#ifndef ROCKSYNC_SKETCH_ELEMENT_GAP_CODING_H_
#define ROCKSYNC_SKETCH_ELEMENT_GAP_CODING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sketch/element/bit_stream.h"

namespace rocksync {

// Writes `positions`, ascending and distinct, all below `range` <= 2^40. The
// reader must know their number and `range`. Each gap g (positions skipped) is
// g >> k ones, a zero, and the k low bits of g; k is the largest with
// 2^k * count * 65536 <= range * 45426 (ln 2 in 1/65536), or 0.
void PutPositions(std::span<const uint64_t> positions, uint64_t range,
                  BitWriter* out);

// Reads `count` positions below `range`. Returns false if the input ends early
// or a position is out of range. Allocates no more than the input's bits
// justify.
[[nodiscard]] bool GetPositions(uint64_t count, uint64_t range, BitReader* in,
                                std::vector<uint64_t>* positions);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_GAP_CODING_H_

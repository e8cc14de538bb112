// Decodes the power sums of a set to the set: PinSketch decoding (Dodis et al.,
// "Fuzzy extractors", appendix E; Berlekamp-Massey for binary BCH codes).

#ifndef ROCKSYNC_SKETCH_PINSKETCH_SYNDROME_DECODER_H_
#define ROCKSYNC_SKETCH_PINSKETCH_SYNDROME_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sketch/pinsketch/field.h"

namespace rocksync {

// Decodes `sums`, of which sums[i] is the sum of x^(2 i + 1) over the elements
// x of an unknown set of distinct non-zero field elements. If there is a set of
// at most sums.size() elements with these sums, it is unique: sets `*elements`
// to it, in no particular order, and returns true. Returns false otherwise.
//
// The sums of a larger set decode to a wrong one with a probability of about 1
// / t! for t sums; to one of fewer than t elements only with about 2^-w. The
// caller decides what to believe.
//
// Takes about 2 t^2 + w t^2 / 2 multiplications, and DecodingBytes(t) of
// memory.
bool DecodePowerSums(const Field& field, std::span<const uint32_t> sums,
                     std::vector<uint32_t>* elements);

// Returns the memory that decoding takes: the residues that squares are made
// of, t / 2 rows of t coefficients; the powers of x and those of its parts, at
// most 32 rows of t each; and some polynomials.
constexpr size_t DecodingBytes(size_t sums) {
  return sizeof(uint32_t) * (sums * sums / 2 + 2 * 32 * sums + 16 * sums);
}

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_SYNDROME_DECODER_H_

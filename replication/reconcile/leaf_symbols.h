// Leaves as short symbols, for a search for the leaves that differ: both sides
// know the leaves, so a few keyed bits of each digest are enough.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_SYMBOLS_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_SYMBOLS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

inline constexpr int kMinSymbolBits = 8;
inline constexpr int kMaxSymbolBits = 32;

// The leaves of one side, those that take no part, the search's seed and the
// key of its symbols. Views.
struct SearchedLeaves {
  std::span<const Digest> digests;
  const std::vector<bool>& closed;
  MappingSeed seed;
  MappingKey symbol_key;
};

// Returns the fewest bits that tell the elements of a leaf apart, where leaves
// hold `per_leaf` on average. In one of eight leaves, or one of 2^16 if round
// trips matter, a second element has a keyed sum that fits.
constexpr int SymbolBitsToTell(uint64_t per_leaf, bool hurry) {
  return std::clamp(
      static_cast<int>(std::bit_width(per_leaf)) + (hurry ? 19 : 6),
      kMinSymbolBits, kMaxSymbolBits);
}

// Returns the mask of a keyed sum. Of a symbol's 8 to 32 bits two are for the
// count, the others for the sum.
constexpr uint32_t SumMask(int bits) {
  return static_cast<uint32_t>((uint64_t{1} << (bits - 2)) - 1);
}

// Returns the leading bits - 2 bits of factor * sum mod 2^128, where the factor
// is the key with its lowest bit set. The keyed sum of a + b is the sum of the
// keyed sums of a and b, or one more, mod 2^(bits - 2).
inline uint32_t KeyedSum(const ElementHash& sum, const MappingKey& key,
                         int bits) {
  const Uint128 factor = static_cast<Uint128>(key.high) << 64 | key.low | 1;
  const Uint128 value = static_cast<Uint128>(sum.high) << 64 | sum.low;
  return static_cast<uint32_t>(factor * value >> (128 - (bits - 2)));
}

// Returns whether an element with this keyed sum may be the whole difference of
// two leaves whose keyed sums differ by `difference`.
constexpr bool MayBeDifference(uint32_t element, uint32_t difference,
                               int bits) {
  return ((difference - element) & SumMask(bits)) <= 1;
}

// Returns the symbol of a leaf with this digest: the count mod 4 in the two
// leading bits, so that a pair more or less always shows; below them the keyed
// sum. Two digests of equal counts have one symbol with probability of about
// 2^-(bits - 2).
inline uint32_t LeafSymbol(const Digest& digest, const MappingKey& key,
                           int bits) {
  const uint32_t sum =
      KeyedSum({.high = digest.high, .low = digest.low}, key, bits);
  return static_cast<uint32_t>(digest.count & 3) << (bits - 2) | sum;
}

// Returns a leaf as an element of an estimate: different for different leaves,
// counts or sums. The estimate mixes it with a key.
inline ElementHash LeafElement(uint32_t leaf, const Digest& digest) {
  return {.high = digest.high + leaf * kMixFactor,
          .low = digest.low + digest.count * kMixFactor};
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_SYMBOLS_H_

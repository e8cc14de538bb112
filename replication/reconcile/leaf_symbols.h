// Leaves as short symbols, for a search that asks which of them differ: both
// sides know the leaves, so a few keyed bits of each digest are enough.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_SYMBOLS_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_SYMBOLS_H_

#include <cstdint>

#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

inline constexpr int kMinSymbolBits = 8;

// The symbol of a leaf with this digest, 8 <= bits <= 32: the count mod 4 in
// the two leading bits, so that a pair more or less always shows; below them
// the leading bits of factor * sum mod 2^128, where the factor is the key with
// its lowest bit set. Two digests of equal counts have one symbol with
// probability of about 2^-(bits - 2).
inline uint32_t LeafSymbol(const Digest& digest, const MappingKey& key,
                           int bits) {
  const Uint128 factor = static_cast<Uint128>(key.high) << 64 | key.low | 1;
  const Uint128 sum = static_cast<Uint128>(digest.high) << 64 | digest.low;
  const auto top = static_cast<uint32_t>(factor * sum >> (128 - (bits - 2)));
  return static_cast<uint32_t>(digest.count & 3) << (bits - 2) | top;
}

// A leaf as an element of an estimate: different for different leaves, counts
// or sums. The estimate mixes it with a key.
inline ElementHash LeafElement(uint32_t leaf, const Digest& digest) {
  return {.high = digest.high + leaf * kMixFactor,
          .low = digest.low + digest.count * kMixFactor};
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_SYMBOLS_H_

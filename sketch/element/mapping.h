// Mappings are keyed functions from element hashes to places. A mapping is
// fresh for every filter and sketch, so that two elements which share a place
// under one mapping do not share it under the next (the Distributed Bloom
// Filter, arXiv 1910.07782, section 3: "unique mappings").

#ifndef ROCKSYNC_SKETCH_ELEMENT_MAPPING_H_
#define ROCKSYNC_SKETCH_ELEMENT_MAPPING_H_

#include <array>
#include <cstdint>
#include <span>

#include "sketch/element/element.h"

namespace rocksync {

__extension__ typedef unsigned __int128 Uint128;

// The seed of an exchange's mappings: the same on both sides, and used once.
using MappingSeed = std::array<uint8_t, 32>;

// The key of a mapping: 128 bits that are XORed with stored hashes.
struct MappingKey {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const MappingKey&, const MappingKey&) = default;
};

// Returns the leading 128 bits (big-endian) of
//   SHA-256("rocksync mapping" | seed (32) | purpose (4) | index (8)),
// integers big-endian. Keys of different seeds, purposes or indexes are
// independent.
MappingKey DeriveMapping(const MappingSeed& seed, uint32_t purpose,
                         uint64_t index);

// How (hash XOR key) becomes a number in [0, m).
enum class Reduction : uint8_t {
  // Mix, then multiply-shift. Mappings of different keys are independent for
  // every m.
  kMixed = 0,
  // The paper's plain 128-bit remainder, for experiments only: if m is a power
  // of two, all mappings share their collisions.
  kPlainMod = 1,
};

// The largest m a mapping reduces to.
inline constexpr uint64_t kMaxReductionRange = uint64_t{1} << 40;

// Returns 64 well mixed bits of (hash XOR key): the halves are multiplied to
// 128 bits, the halves of the product are XORed, and the same is done once more
// with a constant. All 128 bits of the hash take part, also when one half is
// constant over the set.
inline constexpr uint64_t kMixFactor = 0x9e3779b97f4a7c15;
inline uint64_t Mix(const ElementHash& hash, const MappingKey& key) {
  const Uint128 product =
      static_cast<Uint128>(hash.high ^ key.high) * (hash.low ^ key.low);
  const uint64_t folded =
      static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  const Uint128 again = static_cast<Uint128>(folded ^ key.high) * kMixFactor;
  return static_cast<uint64_t>(again >> 64) ^ static_cast<uint64_t>(again);
}

// Sets out[i] to Mix(elements[i], key).
void MixAll(std::span<const ElementHash> elements, const MappingKey& key,
            uint64_t* out);

// Returns 32 well mixed bits of (hash XOR key), with a quarter of the
// multiplications of Mix: the 32-bit halves of either half are multiplied and
// both products are added; then the halves of the sum are multiplied and those
// of the product XORed. All 128 bits of the hash take part, also when one half
// is constant.
inline uint32_t ShortMix(const ElementHash& hash, const MappingKey& key) {
  constexpr uint64_t kLowHalf = 0xffffffff;
  const uint64_t high = hash.high ^ key.high;
  const uint64_t low = hash.low ^ key.low;
  const uint64_t sum =
      (high >> 32) * (high & kLowHalf) + (low >> 32) * (low & kLowHalf);
  const uint64_t product = (sum >> 32) * (sum & kLowHalf);
  return static_cast<uint32_t>(product >> 32) ^ static_cast<uint32_t>(product);
}

// The largest range for which 32 bits will do: each place has at least 32 of
// their 2^32 values, so no place is more than 1/32 likelier than another, and
// two elements share one at most 1 + 2^-12 times as often as they should.
inline constexpr uint64_t kMaxShortRange = uint64_t{1} << 27;

// Scales 32 uniform bits to [0, m), m <= kMaxShortRange.
inline uint32_t ShortScale(uint32_t bits, uint32_t m) {
  return static_cast<uint32_t>((uint64_t{bits} * m) >> 32);
}

// Scales 64 uniform bits to [0, m).
inline uint64_t Scale(uint64_t bits, uint64_t m) {
  return static_cast<uint64_t>((static_cast<Uint128>(bits) * m) >> 64);
}

// Returns the place of `hash` in [0, m) under `key`,
// 1 <= m <= kMaxReductionRange.
inline uint64_t Place(const ElementHash& hash, const MappingKey& key,
                      uint64_t m, Reduction reduction) {
  if (reduction == Reduction::kMixed) {
    return m <= kMaxShortRange
               ? ShortScale(ShortMix(hash, key), static_cast<uint32_t>(m))
               : Scale(Mix(hash, key), m);
  }
  const Uint128 value =
      static_cast<Uint128>(hash.high ^ key.high) << 64 | (hash.low ^ key.low);
  return static_cast<uint64_t>(value % m);
}

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_MAPPING_H_

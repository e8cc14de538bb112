// A digest is the count and the sum of a set of element hashes. Equal digests
// of honest replicas prove equal sets; they are the only proof of equality.
//
// This holds for hashes that are keyed by the cluster's secret, and for no
// other 128-bit values. Sums of values with structure collide (a + (a + 3d)
// equals (a + d) + (a + 2d)), and a program that can compute the hashes can
// search for sets with one sum, at far less than 2^64 steps. Without the secret
// none can.

#ifndef ROCKSYNC_SKETCH_ELEMENT_DIGEST_H_
#define ROCKSYNC_SKETCH_ELEMENT_DIGEST_H_

#include <cstdint>

#include "sketch/element/element.h"

namespace rocksync {

// The sum mod 2^128 (not XOR, so that an element counted twice shows) and the
// count mod 2^64 of element hashes. Digests are additive: the digest of a
// disjoint union is the sum of the digests, and Remove undoes Add in any order.
struct Digest {
  uint64_t count = 0;
  uint64_t high = 0;
  uint64_t low = 0;

  constexpr void Add(const ElementHash& hash) {
    ++count;
    AddBits(hash.high, hash.low);
  }
  constexpr void Remove(const ElementHash& hash) {
    --count;
    SubtractBits(hash.high, hash.low);
  }
  constexpr Digest& operator+=(const Digest& other) {
    count += other.count;
    AddBits(other.high, other.low);
    return *this;
  }
  constexpr Digest& operator-=(const Digest& other) {
    count -= other.count;
    SubtractBits(other.high, other.low);
    return *this;
  }
  friend constexpr Digest operator+(Digest a, const Digest& b) {
    return a += b;
  }
  friend constexpr Digest operator-(Digest a, const Digest& b) {
    return a -= b;
  }
  friend constexpr bool operator==(const Digest&, const Digest&) = default;

 private:
  constexpr void AddBits(uint64_t h, uint64_t l) {
    low += l;
    high += h + (low < l ? 1 : 0);
  }
  constexpr void SubtractBits(uint64_t h, uint64_t l) {
    const uint64_t borrow = low < l ? 1 : 0;
    low -= l;
    high -= h + borrow;
  }
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_DIGEST_H_

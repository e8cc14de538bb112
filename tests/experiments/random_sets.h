// Chance for experiments: repeatable on every standard library.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_RANDOM_SETS_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_RANDOM_SETS_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "sketch/element/mapping.h"

namespace rocksync {

using Random = std::mt19937_64;

// A uniform number below n >= 1.
inline uint64_t Below(Random& random, uint64_t n) { return Scale(random(), n); }

// A uniform number in [0, 1).
inline double Fraction(Random& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// `count` different numbers below `n`, in random order.
inline std::vector<uint32_t> Choose(Random& random, uint32_t n,
                                    uint32_t count) {
  std::vector<uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0);
  for (uint32_t i = 0; i < count; ++i) {
    std::swap(all[i], all[i + Below(random, n - i)]);
  }
  all.resize(count);
  return all;
}

inline MappingSeed RandomSeed(Random& random) {
  MappingSeed seed;
  for (uint8_t& byte : seed) byte = static_cast<uint8_t>(random());
  return seed;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_RANDOM_SETS_H_

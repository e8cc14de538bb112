// Elements as uniform as the hashes of pairs are.

#ifndef ROCKSYNC_TESTS_SUPPORT_RANDOM_ELEMENTS_H_
#define ROCKSYNC_TESTS_SUPPORT_RANDOM_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "sketch/element/element.h"

namespace rocksync {

inline std::vector<ElementHash> RandomElements(size_t n,
                                               std::mt19937_64* random) {
  std::vector<ElementHash> elements(n);
  for (ElementHash& element : elements) {
    element.high = (*random)();
    element.low = (*random)();
  }
  return elements;
}

inline std::vector<ElementHash> RandomElements(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  return RandomElements(n, &random);
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_RANDOM_ELEMENTS_H_

// The simulation's only source of chance.

#ifndef ROCKSYNC_TESTS_SIMULATION_RANDOM_H_
#define ROCKSYNC_TESTS_SIMULATION_RANDOM_H_

#include <cstdint>

#include "sketch/element/split_mix.h"

namespace rocksync {

class Random : public SplitMix {
 public:
  using SplitMix::SplitMix;

  // Uniform in [0, n), n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  // Uniform in [low, high].
  uint64_t Between(uint64_t low, uint64_t high) {
    return low + Below(high - low + 1);
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_RANDOM_H_

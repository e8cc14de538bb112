// The simulation's only source of chance.

#ifndef ROCKSYNC_TESTS_SIMULATION_RANDOM_H_
#define ROCKSYNC_TESTS_SIMULATION_RANDOM_H_

#include <cstdint>

namespace rocksync {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, n), n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  // Uniform in [low, high].
  uint64_t Between(uint64_t low, uint64_t high) {
    return low + Below(high - low + 1);
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_RANDOM_H_

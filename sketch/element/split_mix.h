// A pseudorandom generator for decisions that only have to be spread, such as
// when to meet a peer, and which one. Equal seeds give equal numbers. It is not
// for what a peer must not guess.

#ifndef ROCKSYNC_SKETCH_ELEMENT_SPLIT_MIX_H_
#define ROCKSYNC_SKETCH_ELEMENT_SPLIT_MIX_H_

#include <cstdint>

namespace rocksync {

// SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, OOPSLA 2014.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_SPLIT_MIX_H_

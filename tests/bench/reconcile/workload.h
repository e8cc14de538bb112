// Two sets that differ as asked, and the truth about them.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_WORKLOAD_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sketch/element/digest.h"
#include "sketch/element/element.h"

namespace rocksync::bench {

// How the hashes are made: at random, or to collide where they can.
enum class Hashes : uint8_t { kRandom, kEqualHigh, kEqualLow };

// One side's set. Elements gained go to the end, so ordinals stay.
struct Replica {
  std::vector<ElementHash> elements;
  std::vector<uint32_t> numbers;  // of the elements, in the union
  std::vector<bool> holds;        // by number
  Digest digest;

  void Gain(const ElementHash& element, uint32_t number);
};

struct Workload {
  Replica a;
  Replica b;
};

// Larger side of n elements, `only_a` of a's elements missing on b and
// `only_b` the other way round: n = common + max(only_a, only_b).
Workload MakeWorkload(uint64_t n, uint64_t only_a, uint64_t only_b,
                      uint64_t seed, Hashes hashes);

// Elements of one side that the other lacks, both ways.
uint64_t CountMissing(const Workload& workload);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_WORKLOAD_H_

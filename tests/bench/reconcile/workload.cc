#include "tests/bench/reconcile/workload.h"

#include <algorithm>
#include <random>

namespace rocksync::bench {

void Replica::Gain(const ElementHash& element, uint32_t number) {
  elements.push_back(element);
  numbers.push_back(number);
  holds[number] = true;
  digest.Add(element);
}

Workload MakeWorkload(uint64_t n, uint64_t only_a, uint64_t only_b,
                      uint64_t seed, Hashes hashes) {
  const uint64_t largest = std::max(only_a, only_b);
  const uint64_t common = n > largest ? n - largest : 0;
  const uint64_t total = common + only_a + only_b;
  std::mt19937_64 random(seed);
  Workload workload;
  for (Replica* replica : {&workload.a, &workload.b}) {
    replica->holds.assign(total, false);
    replica->elements.reserve(total);
    replica->numbers.reserve(total);
  }
  for (uint32_t i = 0; i < total; ++i) {
    ElementHash element = {random(), random()};
    if (hashes == Hashes::kEqualHigh) element.high = 42;
    if (hashes == Hashes::kEqualLow) element.low = 42;
    const bool in_a = i < common + only_a;
    const bool in_b = i < common || i >= common + only_a;
    if (in_a) workload.a.Gain(element, i);
    if (in_b) workload.b.Gain(element, i);
  }
  return workload;
}

uint64_t CountMissing(const Workload& workload) {
  uint64_t missing = 0;
  for (size_t i = 0; i < workload.a.holds.size(); ++i) {
    missing += workload.a.holds[i] != workload.b.holds[i];
  }
  return missing;
}

}  // namespace rocksync::bench

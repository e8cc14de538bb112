#include "tests/bench/reconcile/slice.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "sketch/element/sha256.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "sketch/filter/places.h"
#include "tests/bench/reconcile/thread_clock.h"
#include "tests/support/random_elements.h"

namespace rocksync::bench {
namespace {

constexpr double kRate = 0.5;
// One element in so many is missing over there.
constexpr size_t kDifferent = 1000;

double MedianNs(uint64_t n, uint32_t runs, const std::function<void()>& work) {
  std::vector<double> times;
  for (uint32_t run = 0; run < runs; ++run) {
    const double start = ThreadCpuMs();
    work();
    times.push_back((ThreadCpuMs() - start) * 1e6 / static_cast<double>(n));
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[runs / 2];
}

}  // namespace

SliceTimes TimeSlice(uint64_t n, uint64_t seed, uint32_t runs) {
  std::mt19937_64 random(seed);
  const std::vector<ElementHash> mine = RandomElements(n, &random);
  std::vector<ElementHash> theirs = mine;
  for (size_t i = 0; i < theirs.size(); i += kDifferent) {
    theirs[i] = {random(), random()};
  }
  const FilterShape shape = ShapeFilter(n, kRate);
  const FilterMapping mapping(MappingSeed{}, seed, shape.probes);
  SliceTimes times;
  times.build_ns = MedianNs(n, runs, [&] {
    DistributedBloomFilter filter(shape, mapping);
    filter.AddAll(mine);
  });
  std::vector<uint32_t> missing(n);
  const auto time_test = [&](const std::vector<ElementHash>& members) {
    DistributedBloomFilter filter(shape, mapping);
    filter.AddAll(members);
    return MedianNs(n, runs, [&] {
      FindUnsetPlaces(mine, mapping.key(0), shape.bits,
                      reinterpret_cast<const uint8_t*>(filter.bytes().data()),
                      0, missing.data());
    });
  };
  times.test_ns = time_test(theirs);
  times.test_absent_ns = time_test(RandomElements(n, &random));
  // An element's own bytes stand for its key.
  uint8_t sum = 0;
  times.sha256_ns = MedianNs(n, runs, [&] {
    for (const ElementHash& element : mine) {
      sum ^= Sha256({std::string_view(reinterpret_cast<const char*>(&element),
                                      sizeof(element))})[0];
    }
  });
  volatile uint8_t used = sum;
  (void)used;
  return times;
}

}  // namespace rocksync::bench

#include "tests/experiments/filters/filter_estimates.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace rocksync {
namespace {

uint64_t CountBitsOfEither(const std::string& a, const std::string& b) {
  uint64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    count += std::popcount(static_cast<uint8_t>(a[i] | b[i]));
  }
  return count;
}

}  // namespace

double FalsePositiveRate(uint64_t n, const FilterShape& shape) {
  const double k = shape.probes;
  const double load =
      k * static_cast<double>(n) / static_cast<double>(shape.bits);
  return std::pow(-std::expm1(-load), k);
}

uint64_t CountBitsSet(const DistributedBloomFilter& filter) {
  return CountBitsOfEither(filter.bytes(), filter.bytes());
}

double EstimateCount(uint64_t bits_set, const FilterShape& shape) {
  if (bits_set >= shape.bits) return std::numeric_limits<double>::infinity();
  const double m = static_cast<double>(shape.bits);
  return -m / shape.probes * std::log1p(-static_cast<double>(bits_set) / m);
}

double HiddenByAll(uint64_t n, const FilterShape& shape, uint32_t nodes) {
  return std::pow(FalsePositiveRate(n, shape), nodes);
}

double FalsePositiveBound(uint64_t n, const FilterShape& shape) {
  assert(shape.bits >= 2);
  const double k = shape.probes;
  const double load = k * (static_cast<double>(n) + 0.5) /
                      (static_cast<double>(shape.bits) - 1);
  return std::pow(-std::expm1(-load), k);
}

OverlapEstimate EstimateOverlap(const DistributedBloomFilter& a,
                                const DistributedBloomFilter& b) {
  assert(a.shape() == b.shape());
  OverlapEstimate estimate;
  estimate.first = EstimateCount(CountBitsSet(a), a.shape());
  estimate.second = EstimateCount(CountBitsSet(b), b.shape());
  estimate.union_size =
      EstimateCount(CountBitsOfEither(a.bytes(), b.bytes()), a.shape());
  if (std::isinf(estimate.union_size)) {
    estimate.intersection = estimate.difference = estimate.union_size;
    return estimate;
  }
  const double both = estimate.first + estimate.second;
  estimate.intersection = std::max(0.0, both - estimate.union_size);
  estimate.difference = std::max(0.0, 2 * estimate.union_size - both);
  return estimate;
}

double EstimateMissing(uint64_t misses, uint64_t bits_set,
                       const FilterShape& shape) {
  if (bits_set >= shape.bits) return std::numeric_limits<double>::infinity();
  const double fill =
      static_cast<double>(bits_set) / static_cast<double>(shape.bits);
  return static_cast<double>(misses) / (1 - std::pow(fill, shape.probes));
}

}  // namespace rocksync

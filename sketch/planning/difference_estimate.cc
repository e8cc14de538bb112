#include "sketch/planning/difference_estimate.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <vector>

#include "sketch/element/mapping.h"

namespace rocksync {
namespace {

constexpr int kMaxLevels = 20;
// The number of elements that are mixed at a time.
constexpr size_t kBlock = 64;

double SampleRate(int level, int levels) {
  return std::ldexp(1.0, level + 1 < levels ? -(level + 1) : -level);
}

}  // namespace

ParityShape ShapeParities(uint64_t total, int buckets) {
  const int width = static_cast<int>(std::bit_width(total));
  return {.levels = std::clamp(width - 5, 2, kMaxLevels), .buckets = buckets};
}

std::string Parities(std::span<const ElementHash> elements,
                     const MappingKey& key, const ParityShape& shape) {
  assert(std::has_single_bit(static_cast<unsigned>(shape.buckets)) &&
         shape.buckets >= 16 && shape.buckets <= 128);
  const size_t row = static_cast<size_t>(shape.buckets) / 8;
  std::string parities(shape.bytes(), '\0');
  const uint64_t last_bucket = static_cast<uint64_t>(shape.buckets) - 1;
  uint64_t mixes[kBlock];
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    MixAll(elements.subspan(at, n), key, mixes);
    for (size_t i = 0; i < n; ++i) {
      const int level = std::min(std::countl_zero(mixes[i]), shape.levels - 1);
      const uint64_t bucket = mixes[i] & last_bucket;
      parities[static_cast<size_t>(level + 1) * row - 1 - bucket / 8] ^=
          static_cast<char>(1 << bucket % 8);
    }
  }
  return parities;
}

double EstimateDifference(std::string_view mine, std::string_view theirs,
                          const ParityShape& shape, double max,
                          int first_level) {
  assert(mine.size() == shape.bytes() && theirs.size() == shape.bytes());
  std::vector<int> odd(shape.levels, 0);
  const size_t row = shape.bytes() / shape.levels;
  for (size_t i = 0; i < mine.size(); ++i) {
    odd[i / row] += std::popcount(static_cast<uint8_t>(mine[i] ^ theirs[i]));
  }
  // A bucket that gets Poisson(x) differences is odd with probability
  // (1 - e^-2x) / 2.
  double best = 1;
  double best_likelihood = -INFINITY;
  for (double d = 1; d <= std::max(max, 1.0); d *= 1.03) {
    double likelihood = 0;
    for (int level = first_level; level < shape.levels; ++level) {
      const double mean = d * SampleRate(level, shape.levels) / shape.buckets;
      const double p = std::max(-std::expm1(-2 * mean) / 2, 1e-12);
      likelihood += odd[level] * std::log(p) +
                    (shape.buckets - odd[level]) * std::log1p(-p);
    }
    if (likelihood > best_likelihood) {
      best_likelihood = likelihood;
      best = d;
    }
  }
  return best;
}

FineShape ShapeFine(uint64_t least) {
  // Takes about 5 % of what telling these differences takes, less if they are
  // many.
  return ShapeFine(least, static_cast<uint32_t>(
                              std::clamp<uint64_t>(least / 2, 256, 16384)));
}

FineShape ShapeFine(uint64_t least, uint32_t buckets) {
  FineShape shape;
  shape.buckets = buckets / 8 * 8;
  // A mean of 0.6 differences a bucket is measured best.
  const double rate =
      std::min(1.0, 0.5 * shape.buckets / static_cast<double>(least));
  shape.threshold = static_cast<uint32_t>(rate * 0xffffffffu);
  return shape;
}

std::string FineParities(std::span<const ElementHash> elements,
                         const MappingKey& key, const FineShape& shape) {
  std::string parities(shape.bytes(), '\0');
  uint64_t mixes[kBlock];
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    MixAll(elements.subspan(at, n), key, mixes);
    for (size_t i = 0; i < n; ++i) {
      if (static_cast<uint32_t>(mixes[i]) >= shape.threshold) continue;
      const uint64_t bucket = (mixes[i] >> 32) * shape.buckets >> 32;
      parities[bucket / 8] ^= static_cast<char>(1 << bucket % 8);
    }
  }
  return parities;
}

double EstimateFine(std::string_view mine, std::string_view theirs,
                    const FineShape& shape) {
  assert(mine.size() == shape.bytes() && theirs.size() == shape.bytes());
  int odd = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    odd += std::popcount(static_cast<uint8_t>(mine[i] ^ theirs[i]));
  }
  const double even = 1 - 2 * static_cast<double>(odd) / shape.buckets;
  if (even < 0.05) return INFINITY;
  const double rate = (shape.threshold + 0.5) / 4294967296.0;
  return -std::log(even) / 2 * shape.buckets / rate;
}

}  // namespace rocksync

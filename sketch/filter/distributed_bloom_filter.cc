#include "sketch/filter/distributed_bloom_filter.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "sketch/filter/places.h"

namespace rocksync {

FilterShape ShapeFilter(uint64_t n, double false_positive_rate) {
  assert(false_positive_rate > 0 && false_positive_rate < 1);
  const double halvings = -std::log2(false_positive_rate);
  const double k = std::clamp(std::round(halvings), 1.0, double{kMaxProbes});
  const double per_element =
      -k / std::log1p(-std::pow(false_positive_rate, 1 / k));
  const double m = std::clamp(std::ceil(static_cast<double>(n) * per_element),
                              1.0, static_cast<double>(kMaxReductionRange));
  return {static_cast<uint64_t>(m), static_cast<uint32_t>(k)};
}

FilterMapping::FilterMapping(const MappingSeed& seed, uint64_t round,
                             uint32_t probes, Reduction reduction)
    : reduction_(reduction) {
  assert(probes >= 1 && probes <= kMaxProbes);
  keys_.reserve(probes);
  for (uint32_t i = 0; i < probes; ++i) {
    keys_.push_back(
        DeriveMapping(seed, kFilterPurpose, kMaxProbes * round + i));
  }
}

DistributedBloomFilter::DistributedBloomFilter(const FilterShape& shape,
                                               FilterMapping mapping)
    : shape_(shape),
      mapping_(std::move(mapping)),
      bytes_((shape.bits + 7) / 8, '\0') {
  assert(shape.bits >= 1 && shape.bits <= kMaxReductionRange);
  assert(shape.probes == mapping_.probes());
}

uint32_t DistributedBloomFilter::Add(const ElementHash& hash) {
  uint32_t newly_set = 0;
  for (uint32_t i = 0; i < shape_.probes; ++i) {
    const uint64_t p = mapping_.Probe(hash, i, shape_.bits);
    const char with = static_cast<char>(bytes_[p / 8] | 1 << p % 8);
    newly_set += with != bytes_[p / 8];
    bytes_[p / 8] = with;
  }
  return newly_set;
}

void DistributedBloomFilter::AddAll(std::span<const ElementHash> elements) {
  if (mapping_.reduction() != Reduction::kMixed) {
    for (const ElementHash& element : elements) Add(element);
    return;
  }
  for (uint32_t i = 0; i < shape_.probes; ++i) {
    SetPlaces(elements, mapping_.key(i), shape_.bits,
              reinterpret_cast<uint8_t*>(bytes_.data()));
  }
}

bool DistributedBloomFilter::MayContain(const ElementHash& hash) const {
  for (uint32_t i = 0; i < shape_.probes; ++i) {
    const uint64_t p = mapping_.Probe(hash, i, shape_.bits);
    if ((bytes_[p / 8] >> p % 8 & 1) == 0) return false;
  }
  return true;
}

}  // namespace rocksync

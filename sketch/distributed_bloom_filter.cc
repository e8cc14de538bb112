#include "sketch/distributed_bloom_filter.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace rocksync {
namespace {

// Calls `body` with the reduction as a compile-time constant.
template <typename Body>
void WithConstant(Reduction reduction, const Body& body) {
  if (reduction == Reduction::kMixed) {
    body(std::integral_constant<Reduction, Reduction::kMixed>());
  } else {
    body(std::integral_constant<Reduction, Reduction::kPlainMod>());
  }
}

}  // namespace

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

double FalsePositiveRate(uint64_t n, const FilterShape& shape) {
  const double k = shape.probes;
  const double load =
      k * static_cast<double>(n) / static_cast<double>(shape.bits);
  return std::pow(-std::expm1(-load), k);
}

double EstimateCount(uint64_t bits_set, const FilterShape& shape) {
  if (bits_set >= shape.bits) return std::numeric_limits<double>::infinity();
  const double m = static_cast<double>(shape.bits);
  return -m / shape.probes * std::log1p(-static_cast<double>(bits_set) / m);
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

void DistributedBloomFilter::Add(const ElementHash& hash) {
  for (uint32_t i = 0; i < shape_.probes; ++i) {
    const uint64_t p = mapping_.Probe(hash, i, shape_.bits);
    bytes_[p / 8] = static_cast<char>(bytes_[p / 8] | 1 << p % 8);
  }
}

bool DistributedBloomFilter::MayContain(const ElementHash& hash) const {
  for (uint32_t i = 0; i < shape_.probes; ++i) {
    const uint64_t p = mapping_.Probe(hash, i, shape_.bits);
    if ((bytes_[p / 8] >> p % 8 & 1) == 0) return false;
  }
  return true;
}

// Keys and sizes are copied, so that the compiler need not fear that a byte
// stored changes them.
void DistributedBloomFilter::AddAll(std::span<const ElementHash> elements) {
  char* const bytes = bytes_.data();
  const uint64_t m = shape_.bits;
  for (uint32_t i = 0; i < shape_.probes; ++i) {
    const MappingKey key = mapping_.key(i);
    WithConstant(mapping_.reduction(), [&](auto reduction) {
      for (const ElementHash& element : elements) {
        const uint64_t p = Place(element, key, m, reduction);
        bytes[p / 8] = static_cast<char>(bytes[p / 8] | 1 << p % 8);
      }
    });
  }
}

// Without branches for one probe: half the answers of a half full filter
// would be mispredicted.
void DistributedBloomFilter::AppendMissing(
    std::span<const ElementHash> elements,
    std::vector<uint32_t>* ordinals) const {
  if (shape_.probes > 1) {
    for (uint32_t i = 0; i < elements.size(); ++i) {
      if (!MayContain(elements[i])) ordinals->push_back(i);
    }
    return;
  }
  const char* const bytes = bytes_.data();
  const uint64_t m = shape_.bits;
  const MappingKey key = mapping_.key(0);
  constexpr uint32_t kBlock = 1024;
  uint32_t found[kBlock];
  for (size_t begin = 0; begin < elements.size(); begin += kBlock) {
    const size_t end = std::min<size_t>(begin + kBlock, elements.size());
    uint32_t count = 0;
    WithConstant(mapping_.reduction(), [&](auto reduction) {
      for (size_t i = begin; i < end; ++i) {
        const uint64_t p = Place(elements[i], key, m, reduction);
        found[count] = static_cast<uint32_t>(i);
        count += ~static_cast<uint32_t>(bytes[p / 8] >> p % 8) & 1;
      }
    });
    ordinals->insert(ordinals->end(), found, found + count);
  }
}

uint64_t DistributedBloomFilter::CountBitsSet() const {
  uint64_t count = 0;
  for (const char byte : bytes_) {
    count += std::popcount(static_cast<uint8_t>(byte));
  }
  return count;
}

bool DistributedBloomFilter::SetBytes(std::string_view bytes) {
  if (bytes.size() != bytes_.size()) return false;
  bytes_.assign(bytes);
  return true;
}

}  // namespace rocksync

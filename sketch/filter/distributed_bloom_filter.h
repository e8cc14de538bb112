// The Distributed Bloom Filter (Ramabaja and Avdullahu, arXiv 1910.07782): a
// Bloom filter whose mapping is derived from a seed that both sides share and
// never use twice. It is built and tested from stored element hashes alone,
// without touching a key. An element that it denies is surely missing on the
// other side.

#ifndef ROCKSYNC_SKETCH_FILTER_DISTRIBUTED_BLOOM_FILTER_H_
#define ROCKSYNC_SKETCH_FILTER_DISTRIBUTED_BLOOM_FILTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

struct FilterShape {
  uint64_t bits = 1;    // m, 1 .. kMaxReductionRange
  uint32_t probes = 1;  // k, 1 .. kMaxProbes
  friend bool operator==(const FilterShape&, const FilterShape&) = default;
};
inline constexpr uint32_t kMaxProbes = 64;

// Returns the smallest filter of n elements with at most this false positive
// rate in (0, 1), by formula (1) of the paper, f = (1 - e^(-k n / m))^k: k is
// round(log2(1/f)), at least 1, and m follows exactly from k. At 50 %, k = 1
// and m = ceil(n / ln 2). m is cut to kMaxReductionRange.
FilterShape ShapeFilter(uint64_t n, double false_positive_rate);

// The k derived hashes of one filter. Probe i of an element is
// Place(hash, DeriveMapping(seed, kFilterPurpose, 64 * round + i), m).
inline constexpr uint32_t kFilterPurpose = 1;
class FilterMapping {
 public:
  FilterMapping(const MappingSeed& seed, uint64_t round, uint32_t probes,
                Reduction reduction = Reduction::kMixed);
  uint32_t probes() const { return static_cast<uint32_t>(keys_.size()); }
  uint64_t Probe(const ElementHash& hash, uint32_t i, uint64_t m) const {
    return Place(hash, keys_[i], m, reduction_);
  }
  const MappingKey& key(uint32_t i) const { return keys_[i]; }
  Reduction reduction() const { return reduction_; }

 private:
  std::vector<MappingKey> keys_;
  Reduction reduction_;
};

// A filter of m bits with k probes. Not thread-safe while elements are added.
// Bit p of the filter is bit p % 8 (least significant first) of byte p / 8;
// there are ceil(m / 8) bytes and the spare bits of the last are 0.
class DistributedBloomFilter {
 public:
  // Makes an empty filter of `shape.bits` bits; the mapping must have
  // shape.probes.
  DistributedBloomFilter(const FilterShape& shape, FilterMapping mapping);

  // Adds an element. Returns how many bits were not set before, 0 .. k.
  uint32_t Add(const ElementHash& hash);
  // Adds many elements, several times faster than one by one.
  void AddAll(std::span<const ElementHash> elements);
  // Returns false if the element was surely never added.
  bool MayContain(const ElementHash& hash) const;

  const FilterShape& shape() const { return shape_; }
  const std::string& bytes() const { return bytes_; }

 private:
  FilterShape shape_;
  FilterMapping mapping_;
  std::string bytes_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_FILTER_DISTRIBUTED_BLOOM_FILTER_H_

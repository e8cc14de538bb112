// A Distributed Bloom Filter cut into slices that travel and are tested one by
// one (after "One is Enough: Distributed Filtering for Duplicate Elimination",
// CIKM 2011, which spreads them over machines):
//
//   horizontally  a hash of the element picks one of `groups` small filters
//   vertically    each filter's bits are cut into `ranges` of equal size
//   diced         both
//
// An element is surely missing if any one slice says so; a slice that never
// arrives says nothing, so its bits count as set. It costs work, never data.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_SLICED_FILTER_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_SLICED_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

// All slices have ceil(filter.bits / slices()) bits. Slice i is range
// i % ranges of group i / ranges.
struct SliceLayout {
  FilterShape filter;  // of the whole
  uint32_t groups = 1;
  uint32_t ranges = 1;
  uint32_t slices() const { return groups * ranges; }
  uint64_t slice_bits() const {
    return (filter.bits + slices() - 1) / slices();
  }
};

// Where an element's probes fall. A group's probes are those of a
// DistributedBloomFilter of ranges * slice_bits() bits with the same seed and
// round; the group is Place(hash, DeriveMapping(seed, kGroupPurpose, round),
// groups), so one group cut vertically is that very filter.
inline constexpr uint32_t kGroupPurpose = 64;
class SlicedMapping {
 public:
  struct Position {
    uint32_t slice = 0;
    uint64_t bit = 0;  // within the slice
  };

  SlicedMapping(const SliceLayout& layout, const MappingSeed& seed,
                uint64_t round);
  const SliceLayout& layout() const { return layout_; }
  Position Probe(const ElementHash& hash, uint32_t i) const;

 private:
  SliceLayout layout_;
  FilterMapping probes_;
  MappingKey group_;
};

// The sender's side.
class SlicedFilter {
 public:
  // `mapping` must outlive the filter.
  explicit SlicedFilter(const SlicedMapping* mapping);
  void Add(const ElementHash& hash);
  // Bytes of one slice, coded as a DistributedBloomFilter's.
  const std::string& slice(uint32_t index) const { return slices_[index]; }

 private:
  const SlicedMapping* const mapping_;
  std::vector<std::string> slices_;
};

// The receiver's side: what one slice says about one element.
struct SliceAnswer {
  uint32_t zeros = 0;  // probes in this slice that meet a 0: surely missing
  uint32_t ones = 0;   // probes in this slice that meet a 1
};
// `slice` must have (slice_bits() + 7) / 8 bytes.
SliceAnswer TestSlice(const SlicedMapping& mapping, uint32_t index,
                      std::string_view slice, const ElementHash& hash);

// The expected false positive rate when `lost` slices, any with equal
// probability, did not arrive. With p the part of bits that are set, q the part
// of slices lost:
//   horizontally  q + (1 - q) p^k        the whole group is lost, or none of it
//   vertically    (q + (1 - q) p)^k      each probe meets a lost slice by
//   itself diced         the mean of the vertical form over the number of
//   slices that
//                 an element's own group lost (hypergeometric)
double FalsePositiveRateWithLoss(uint64_t n, const SliceLayout& layout,
                                 uint32_t lost);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_SLICED_FILTER_H_

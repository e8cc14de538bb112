// The simplest sliding window without timers: Bloom filters of one size, each
// for a slice of the window, of which the oldest is emptied for the next slice.
// What sketch/window/ does beyond it is to follow the rate of elements.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_GENERATION_FILTER_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_GENERATION_FILTER_H_

#include <cstdint>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

class GenerationFilter {
 public:
  // `generations` >= 2 of `shape`, of which all but one cover `window` slots.
  GenerationFilter(uint32_t generations, uint64_t window,
                   const FilterShape& shape, const MappingSeed& seed)
      : slice_((window + generations - 2) / (generations - 1)),
        shape_(shape),
        seed_(seed) {
    for (uint32_t i = 0; i < generations; ++i) {
      generations_.push_back(Empty(i));
    }
  }

  // `now` never decreases.
  void Insert(const ElementHash& hash, uint64_t now) {
    AdvanceTo(now);
    generations_[newest_ % generations_.size()].Add(hash);
  }
  bool MayContain(const ElementHash& hash, uint64_t now) {
    AdvanceTo(now);
    for (const DistributedBloomFilter& generation : generations_) {
      if (generation.MayContain(hash)) return true;
    }
    return false;
  }

 private:
  DistributedBloomFilter Empty(uint64_t number) const {
    return {shape_, FilterMapping(seed_, number, shape_.probes)};
  }
  void AdvanceTo(uint64_t now) {
    while (newest_ < now / slice_) {
      ++newest_;
      generations_[newest_ % generations_.size()] =
          Empty(newest_ + generations_.size());
    }
  }

  const uint64_t slice_;
  const FilterShape shape_;
  const MappingSeed seed_;
  std::vector<DistributedBloomFilter> generations_;
  uint64_t newest_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_GENERATION_FILTER_H_

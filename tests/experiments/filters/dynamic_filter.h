// A filter of timers that grows under a burst ("One is Enough", CIKM 2011,
// section 5): when the newest filter has reached its threshold, another one of
// the same size takes what is inserted; those whose timers have all run out are
// discarded.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_DYNAMIC_FILTER_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_DYNAMIC_FILTER_H_

#include <cstdint>
#include <deque>

#include "sketch/element/element.h"
#include "tests/experiments/filters/timer_filter.h"

namespace rocksync {

// What is held against the threshold of a false positive rate.
enum class Growth {
  kDensity,      // the part of timers that run
  kCardinality,  // elements ever inserted into the filter
};

class DynamicFilter {
 public:
  // `mapping` (all filters have the same) must outlive the filter.
  DynamicFilter(const SlicedMapping* mapping, const TimerSpan& span,
                Growth growth, double false_positive_rate);

  // `now` never decreases.
  void Insert(const ElementHash& hash, uint64_t now);
  bool MayContain(const ElementHash& hash, uint64_t now);

  // Filters that there are, the one that takes insertions among them.
  uint64_t CountFilters(uint64_t now);

 private:
  struct Part {
    TimerFilter filter;
    uint64_t inserted = 0;
  };
  bool IsFull(Part* part, uint64_t now) const;
  void Discard(uint64_t now);

  const SlicedMapping* const mapping_;
  const TimerSpan span_;
  const Growth growth_;
  const double max_density_;
  const double max_inserted_;
  std::deque<Part> parts_;  // the newest last
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_DYNAMIC_FILTER_H_

#include "tests/experiments/filters/dynamic_filter.h"

#include <algorithm>
#include <cmath>

namespace rocksync {

DynamicFilter::DynamicFilter(const SlicedMapping* mapping,
                             const TimerSpan& span, Growth growth,
                             double false_positive_rate)
    : mapping_(mapping),
      span_(span),
      growth_(growth),
      max_density_(
          std::pow(false_positive_rate, 1.0 / mapping->layout().filter.probes)),
      max_inserted_(static_cast<double>(mapping->layout().filter.bits) *
                    -std::log1p(-max_density_) /
                    mapping->layout().filter.probes) {
  parts_.push_back({TimerFilter(mapping, span)});
}

bool DynamicFilter::IsFull(Part* part, uint64_t now) const {
  if (growth_ == Growth::kCardinality) {
    return static_cast<double>(part->inserted) >= max_inserted_;
  }
  return static_cast<double>(part->filter.CountRunning(now)) >=
         max_density_ * static_cast<double>(part->filter.size());
}

// Timers of an older filter run out earlier. The one that takes insertions
// stays: by density since it may not be full any more, by cardinality until it
// is full.
void DynamicFilter::Discard(uint64_t now) {
  while (parts_.size() > 1 && parts_.front().filter.CountRunning(now) == 0) {
    parts_.pop_front();
  }
}

void DynamicFilter::Insert(const ElementHash& hash, uint64_t now) {
  Discard(now);
  if (IsFull(&parts_.back(), now)) {
    parts_.push_back({TimerFilter(mapping_, span_)});
  }
  parts_.back().filter.Insert(hash, now);
  ++parts_.back().inserted;
}

bool DynamicFilter::MayContain(const ElementHash& hash, uint64_t now) {
  return std::any_of(parts_.begin(), parts_.end(), [&](Part& part) {
    return part.filter.MayContain(hash, now, 1);
  });
}

uint64_t DynamicFilter::CountFilters(uint64_t now) {
  Discard(now);
  return parts_.size();
}

}  // namespace rocksync

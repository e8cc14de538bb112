#include "tests/experiments/filters/timer_filter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace rocksync {

TimerSpan TimerSpan::OfBits(uint64_t window, uint32_t bits) {
  // An element's unit has begun already, so units - 1 whole ones must cover the
  // window.
  const uint64_t units = (uint64_t{1} << bits) - 1;
  assert(units >= 2);
  return {(window + units - 2) / (units - 1), units};
}

uint32_t TimerSpan::bits() const {
  return static_cast<uint32_t>(std::bit_width(units));
}

TimerFilter::TimerFilter(const SlicedMapping* mapping, const TimerSpan& span)
    : mapping_(mapping),
      span_(span),
      unit_(span.units),
      timers_(mapping->layout().slices() * mapping->layout().slice_bits()),
      running_(span.units) {}

uint64_t TimerFilter::PositionOf(const ElementHash& hash, uint32_t i) const {
  const SlicedMapping::Position at = mapping_->Probe(hash, i);
  return at.slice * mapping_->layout().slice_bits() + at.bit;
}

void TimerFilter::AdvanceTo(uint64_t now) {
  const uint64_t unit = now / span_.unit + span_.units;
  assert(unit >= unit_);
  // After as many steps as there are units no timer is left.
  for (uint64_t steps = std::min(unit - unit_, span_.units); steps > 0;
       --steps) {
    uint64_t& run_out = running_[(unit - steps + 1) % span_.units];
    all_running_ -= run_out;
    run_out = 0;
  }
  unit_ = unit;
}

void TimerFilter::Insert(const ElementHash& hash, uint64_t now) {
  AdvanceTo(now);
  for (uint32_t i = 0; i < mapping_->layout().filter.probes; ++i) {
    uint64_t& timer = timers_[PositionOf(hash, i)];
    if (IsRunning(timer)) {
      --running_[timer % span_.units];
    } else {
      ++all_running_;
    }
    timer = unit_;
    ++running_[unit_ % span_.units];
  }
}

TimerAnswer TimerFilter::Test(const ElementHash& hash, uint64_t now) {
  AdvanceTo(now);
  std::array<uint64_t, kMaxProbes> started;
  TimerAnswer answer;
  for (uint32_t i = 0; i < mapping_->layout().filter.probes; ++i) {
    const uint64_t timer = timers_[PositionOf(hash, i)];
    if (IsRunning(timer)) started[answer.running++] = timer;
  }
  std::sort(started.begin(), started.begin() + answer.running);
  for (uint32_t i = 0, run = 0; i < answer.running; ++i) {
    run = i > 0 && started[i] == started[i - 1] ? run + 1 : 1;
    answer.equal = std::max(answer.equal, run);
  }
  return answer;
}

bool TimerFilter::MayContain(const ElementHash& hash, uint64_t now,
                             uint32_t equal) {
  const TimerAnswer answer = Test(hash, now);
  return answer.running == mapping_->layout().filter.probes &&
         answer.equal >= equal;
}

uint64_t TimerFilter::CountRunning(uint64_t now) {
  AdvanceTo(now);
  return all_running_;
}

}  // namespace rocksync

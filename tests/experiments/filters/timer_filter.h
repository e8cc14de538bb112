// The sliding-window Bloom filter of "One is Enough: Distributed Filtering for
// Duplicate Elimination" (CIKM 2011, section 4): a timer in place of each bit,
// which an insertion starts and which runs out when the window has passed. A
// comparison for sketch/window/, which does without timers.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_TIMER_FILTER_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_TIMER_FILTER_H_

#include <cstdint>
#include <vector>

#include "sketch/element/element.h"
#include "tests/experiments/filters/sliced_filter.h"

namespace rocksync {

// How long timers run. Time is in slots; a timer counts units of `unit` slots
// and runs from the unit in which it is started to the `units` - 1 after it.
struct TimerSpan {
  uint64_t unit = 1;
  uint64_t units = 1;

  // The paper's: a slot a unit, so an element is remembered for exactly
  // `window` slots.
  static TimerSpan Exact(uint64_t window) { return {1, window}; }
  // The longest unit with which `bits` for a timer suffice (one value means
  // that it does not run): remembered for `window` slots at least.
  static TimerSpan OfBits(uint64_t window, uint32_t bits);

  // Of a timer, stored.
  uint32_t bits() const;
};

struct TimerAnswer {
  uint32_t running = 0;  // of the element's timers
  uint32_t equal = 0;    // most of the running ones that agree
};

class TimerFilter {
 public:
  // Where a SlicedMapping has a bit there is a timer. `mapping` must outlive
  // the filter.
  TimerFilter(const SlicedMapping* mapping, const TimerSpan& span);

  // `now` never decreases.
  void Insert(const ElementHash& hash, uint64_t now);
  TimerAnswer Test(const ElementHash& hash, uint64_t now);

  // The equal-timers heuristic: all timers run and at least `equal` agree. With
  // 1 it is the plain test.
  bool MayContain(const ElementHash& hash, uint64_t now, uint32_t equal);

  uint64_t CountRunning(uint64_t now);
  uint64_t size() const { return timers_.size(); }

 private:
  void AdvanceTo(uint64_t now);
  uint64_t PositionOf(const ElementHash& hash, uint32_t i) const;
  bool IsRunning(uint64_t started) const {
    return started + span_.units > unit_;
  }

  const SlicedMapping* const mapping_;
  const TimerSpan span_;
  uint64_t unit_;                  // the present one; the first is span_.units
  std::vector<uint64_t> timers_;   // the unit in which it was started, or 0
  std::vector<uint64_t> running_;  // how many, by that unit mod span_.units
  uint64_t all_running_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_TIMER_FILTER_H_

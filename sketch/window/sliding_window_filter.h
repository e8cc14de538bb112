// A sliding-window filter remembers the latest elements, in bounded memory. A
// stream keeps one for each peer, with what that peer is known to have, so that
// a pair which comes by two ways is not sent twice.
//
// Elements are kept by *generations*, each a Distributed Bloom Filter with a
// mapping of its own. A slice is a fourth of the window. The newest generation
// takes what is inserted. The next one begins when the slice is over, or when
// so many bits are set that the false positive rate would become too high (the
// density of "One is Enough", CIKM 2011, section 5). A generation is dropped as
// a whole when the last of its elements has left the window, so nothing is ever
// decremented or rewritten. It is sized for what the slice before it brought;
// if that is not enough the next is larger, so the size follows bursts, and
// shrinks after them.
//
// The paper's timers (section 4) take as many places but several bits for each,
// and were measured to be worse at equal memory (docs/results.md, section 6).
// The paper's "equal timers" heuristic is kept: all probes must meet in one
// generation, with a slice for the unit of time. Unlike there, nothing is
// overwritten.

#ifndef ROCKSYNC_SKETCH_WINDOW_SLIDING_WINDOW_FILTER_H_
#define ROCKSYNC_SKETCH_WINDOW_SLIDING_WINDOW_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

// Limits of a filter. An element is remembered while both windows hold it; 0 is
// a window without limit. If neither has a limit, only `max_bytes` makes the
// filter forget.
struct SlidingWindowOptions {
  // How long an element is remembered after its last insertion.
  uint64_t window_ms = 10'000;
  // How many others are inserted after an element before it is forgotten.
  uint64_t window_elements = 0;
  // The highest false positive rate of MayContain; in [1e-9, 0.5].
  double false_positive_rate = 0.001;
  // The memory of the whole filter. What does not fit is forgotten early, the
  // oldest first: that costs duplicates, and no false positives. At a rate of
  // 0.001 an element of the window takes some 3 bytes, so 1 MiB holds ten
  // seconds of 32 000 elements each.
  size_t max_bytes = size_t{1} << 20;
};
inline constexpr size_t kMinSlidingWindowBytes = size_t{1} << 14;

struct SlidingWindowStatistics {
  uint32_t generations = 0;
  uint64_t elements = 0;  // in the generations that are left
  uint64_t bits = 0;
  uint64_t bits_set = 0;
  // The present false positive rate; at most the option's.
  double false_positive_rate = 0;
  size_t memory_bytes = 0;  // at most max_bytes
  // Insertions over the filter's life. One of an element that the newest
  // generation holds already does not count.
  uint64_t inserted = 0;
  uint64_t forgotten_early = 0;  // within the window, for want of memory

  double Fill() const {
    return bits == 0
               ? 0
               : static_cast<double>(bits_set) / static_cast<double>(bits);
  }
};

// A set of the latest elements. Not thread-safe. Times are of a steady clock,
// in milliseconds from any origin; one that lies before the latest counts as
// the latest. An insertion takes k probes, a test some two in each of at most
// kMaxGenerations generations; memory is allocated when a generation begins.
class SlidingWindowFilter {
 public:
  static constexpr uint32_t kSlices = 4;  // of a window
  static constexpr uint32_t kMaxGenerations = 12;

  // `seed` must be fresh and used for nothing else: the mapping of generation g
  // is FilterMapping(seed, g, k).
  SlidingWindowFilter(const SlidingWindowOptions& options,
                      const MappingSeed& seed);

  void Insert(const ElementHash& hash, uint64_t now_ms);

  // Returns false if the element was not inserted within the window, or was
  // forgotten early. Returns true for everything inserted within the window and
  // not forgotten early, for some of what was inserted up to a slice before it,
  // and for others at the false positive rate.
  bool MayContain(const ElementHash& hash, uint64_t now_ms);

  SlidingWindowStatistics GetStatistics(uint64_t now_ms);

 private:
  struct Generation {
    DistributedBloomFilter filter;
    uint64_t bits_set = 0;
    uint64_t elements = 0;
    uint64_t last_ms = 0;        // of the last insertion
    uint64_t last_inserted = 0;  // inserted_ after the last insertion
  };

  void Age(uint64_t now_ms);
  bool HasLeftTheWindow(const Generation& generation) const;
  bool SliceIsOver() const;
  void BeginSlice();
  bool IsFull(const Generation& generation) const;
  void BeginGeneration(uint64_t bits);
  void DropOldest();
  size_t BytesOf(uint64_t bits) const;

  const SlidingWindowOptions options_;
  const MappingSeed seed_;
  const uint32_t probes_;
  const double bits_per_element_;
  const double max_fill_;
  const uint64_t largest_bits_;
  std::vector<Generation> generations_;  // the oldest first
  size_t memory_bytes_;
  uint64_t now_ms_ = 0;
  uint64_t generations_begun_ = 0;
  uint64_t inserted_ = 0;
  uint64_t forgotten_early_ = 0;
  // The present slice: when it began, and the value of inserted_ then.
  uint64_t slice_begin_ms_ = 0;
  uint64_t slice_begin_inserted_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_WINDOW_SLIDING_WINDOW_FILTER_H_

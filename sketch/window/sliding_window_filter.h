// What went by lately: a set of element hashes that forgets, in bounded memory.
// A stream keeps one for each peer, of what that peer is known to have, so that
// a pair which comes by two ways is not sent twice.
//
// Elements are kept by *generations*, each a Distributed Bloom Filter with a
// mapping of its own. A slice is a fourth of the window. The newest generation
// takes what is inserted; it is followed by another one when its slice is over
// or when so many of its bits are set that its false positive rate would become
// too high (the density of "One is Enough", CIKM 2011, section 5). An old one
// goes as a whole when the last of its elements has left the window, so nothing
// is ever decremented or rewritten. A generation is sized for what the slice
// before it brought; if that is not enough the next is larger, so size follows
// bursts, and leaves with them.
//
// The paper's timers (section 4) take as many places but several bits for each,
// and were measured to be worse at equal memory (docs/results.md, section 6).
// That all probes must meet in one generation is its "equal timers" heuristic,
// with a slice for the unit of time; unlike there, nothing is overwritten.

#ifndef ROCKSYNC_SKETCH_WINDOW_SLIDING_WINDOW_FILTER_H_
#define ROCKSYNC_SKETCH_WINDOW_SLIDING_WINDOW_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

// An element is remembered while both windows hold it; 0 is a window without
// limit. Without any limit only `max_bytes` makes the filter forget.
struct SlidingWindowOptions {
  // An element is remembered for this long after its last insertion.
  uint64_t window_ms = 10'000;
  // An element is remembered until so many others have been inserted after it.
  uint64_t window_elements = 0;
  // The most that MayContain errs by, of elements that are absent; in
  // [1e-9, 0.5].
  double false_positive_rate = 0.001;
  // All memory of the filter. What does not fit is forgotten early, the oldest
  // first: that costs duplicates, and no false positives. At a rate of 0.001 an
  // element of the window takes some 3 bytes, so 1 MiB holds ten seconds of
  // 32 000 elements each.
  size_t max_bytes = size_t{1} << 20;
};
inline constexpr size_t kMinSlidingWindowBytes = size_t{1} << 14;

struct SlidingWindowStatistics {
  uint32_t generations = 0;
  uint64_t elements = 0;  // in the generations that are left
  uint64_t bits = 0;
  uint64_t bits_set = 0;
  // Of an element that was never inserted; at most the option's.
  double false_positive_rate = 0;
  size_t memory_bytes = 0;  // at most max_bytes
  // Over the filter's life. An insertion of what the newest generation holds
  // already does not count.
  uint64_t inserted = 0;
  uint64_t forgotten_early = 0;  // within the window, for want of memory

  double Fill() const {
    return bits == 0
               ? 0
               : static_cast<double>(bits_set) / static_cast<double>(bits);
  }
};

// Not thread-safe. Times are of a steady clock, in milliseconds from any
// origin; one that lies before the latest counts as the latest. An insertion
// takes k probes, a test some two in each of at most kMaxGenerations
// generations; memory is allocated when a generation begins.
class SlidingWindowFilter {
 public:
  static constexpr uint32_t kSlices = 4;  // of a window
  static constexpr uint32_t kMaxGenerations = 12;

  // `seed` must be fresh and used for nothing else: the mapping of generation g
  // is FilterMapping(seed, g, k).
  SlidingWindowFilter(const SlidingWindowOptions& options,
                      const MappingSeed& seed);

  void Insert(const ElementHash& hash, uint64_t now_ms);

  // False: it was not inserted within the window, or forgotten early. True for
  // everything inserted within the window and not forgotten early, for some of
  // what was inserted up to a slice before it, and for others at the false
  // positive rate.
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
  // The present slice: when it began, and inserted_ then.
  uint64_t slice_begin_ms_ = 0;
  uint64_t slice_begin_inserted_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_WINDOW_SLIDING_WINDOW_FILTER_H_
